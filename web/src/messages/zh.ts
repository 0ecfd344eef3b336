// 页面自身的全部文字。服务器的文字保持英文。
import type { Messages } from "./en";

export const zh: Messages = {
  language: "简体中文",
  nav: { tools: "工具", bundles: "工具包", approvals: "审批", calls: "调用", metrics: "指标", clients: "客户端", secrets: "密钥", settings: "设置", pages: "页面", skip: "跳到内容" },
  live: { live: "实时", connecting: "正在连接…", lost: "连接已断开", lostNote: "服务器没有响应。所见内容可能已过时；正在重试。", workspace: "工作区" },
  common: {
    loading: "正在加载…", retry: "重试", close: "关闭", cancel: "取消", copy: "复制", copied: "已复制", on: "开", off: "关", more: "显示更多", remove: "移除", add: "添加", none: "无", never: "从不", refresh: "刷新", undo: "撤销", search: "搜索", theme: "浅色或深色", back: "返回", all: "全部", yes: "是", no: "否",
    failed: "无法加载", broken: "页面的这一部分出错了", brokenHint: "页面的其余部分仍可使用。错误：", notFound: "此地址没有页面", toTools: "前往工具",
  },
  door: { title: "登录 Toolcrib", text: "此页面可以做操作员能做的一切，因此浏览器要用只有你能拿到的链接登录。请在服务器所在的机器上输入：", lasts: "链接只能用一次，十分钟内有效。浏览器保持登录 30 天。", print: "要打开另一个浏览器，请打印链接：", refused: "该链接未能登录：" },
  tools: {
    title: "工具", summary: (on, off, tokens) => `${on} 个开启 · ${off} 个关闭 · 模式共 ${tokens} 个词元`,
    filter: "筛选工具", all: "全部", off: "关闭", attention: "需要处理", failing: "有失败", untagged: "未标记", effect: "作用", anyEffect: "任何作用", bundle: "工具包", anyBundle: "全部工具包",
    tool: "工具", kind: "运行方式", risk: "风险", asks: "何时询问", calls: "24 小时", p95: "p95", last: "上次调用", on: "开", try: "试用", list: "按工具包列出的工具",
    bundleLine: (on, all, tokens) => `${all} 个中 ${on} 个开启 · ${tokens} 个词元`, bundleOff: (n) => `已关闭，其中 ${n} 个工具对客户端不可用`,
    none: "没有工具符合这些筛选条件", clear: "清除筛选", empty: "还没有工具", emptyHint: "编写第一个：", attentionNote: (n) => `${n} 个工具需要处理。`, review: "查看",
    shown: (n) => `${n} 个工具`, switchOn: (n) => `开启 ${n} 个`, switchOff: (n) => `关闭 ${n} 个`, confirmOn: (n) => `开启 ${n} 个工具？`, confirmOff: (n) => `关闭 ${n} 个工具？`, confirmText: "这会更改符合筛选条件的每个工具，包括未显示的工具。",
    switched: (n) => `已切换 ${n} 个工具。`, refused: (n) => `${n} 个工具被拒绝：`,
    kinds: { go: "Go 函数", rust: "内置", http: "HTTP", command: "命令", mcp: "MCP", alias: "别名" },
    failedOf: (failed, all) => `${all} · ${failed} 次失败`, switchTool: (name) => `${name} 已开启`, switchBundle: (name) => `工具包 ${name} 已开启`,
    states: { ready: "就绪", disabled: "关闭", untrusted: "未受信任", unavailable: "不可用", broken: "损坏", shadowed: "被遮蔽", behind: "旧版本" },
  },
  tool: {
    tabs: { try: "试用", definition: "定义", models: "模型所见", policy: "策略", calls: "调用" }, version: "版本", tokens: (n) => `模式 ${n} 个词元`, enabled: "启用", asks: "何时询问",
    args: "参数", form: "表单", json: "JSON", startFrom: "开始于", empty: "空", example: (n) => (n === 0 ? "示例" : `示例 ${n + 1}`), lastCall: "上次调用",
    run: "运行", running: "正在运行", preview: "预览", stop: "停止", again: "再次运行", stopping: "正在停止…", counts: "按“运行”即表示你批准。", ask: "像模型调用一样，先在“审批”中询问我", waits: "等待答复，在", output: "输出", nothing: "尚未运行", nothingHint: "填写参数并按“运行”。输出会实时显示在这里。",
    ok: "成功", failed: "失败", after: "用时", notSent: "未运行。", fix: (n) => `请修正 ${n} 个字段：`, off: "此工具现在无法运行：", exact: "API 返回的结果", elsewhere: "在别处进行同样的调用", follow: "跟随", noArgs: "此工具没有参数。", lost: "调用运行时连接断开了。", lostHint: "调用在服务器中继续：", would: "此调用将会", verdicts: { allow: "直接运行，不询问", ask: "先询问人", deny: "被规则拒绝" },
    source: "来源", digest: "摘要", file: "文件", limits: "限制", effects: "作用", tags: "标签", aliases: "别名", inputSchema: "输入模式", outputSchema: "输出模式", impl: "实现", readOnly: "此工具是内置的，定义不能更改；复制一份即可编辑。", editHint: "要编辑此工具，请输入：",
    provider: "提供商", losses: "此格式无法表达的内容", noLosses: "此格式没有丢失任何内容。", dropped: "此格式无法表达该工具：", bytes: (n) => `${n} 字节`,
    rules: "适用于此工具的规则", noRules: "没有规则提到此工具。", grants: "长期批准", noGrants: "没有：需要询问的调用每次都会询问。", revoke: "撤回", simulate: "规则如何看待这些参数", simulateHint: "使用“试用”标签中的参数。", check: "检查", commands: "将运行的命令", explain: "要查看沙箱计划和其他决定因素，请输入：", noCalls: "此工具还没有被调用过。",
  },
  form: { required: "必填", unset: "不发送", clear: "不发送", setNull: "设为 null", isNull: "将发送 null", isEmpty: "将发送空文本", default: (v) => `默认 ${v}`, choose: "选择…", addItem: "添加一项", addKey: "添加键", key: "键", item: (n) => `第 ${n} 项`, variant: "值的类型", notNumber: "这不是数字", notInteger: "这不是整数", notJson: "这不是 JSON", asJson: "此字段的 JSON", set: "填写", more: "可选参数", changed: "你已更改", was: (v) => `原为 ${v}`, duplicate: "此键已存在", notObject: "参数应是一个 JSON 对象", mustFit: "该值不适合此表单；以 JSON 显示。" },
  approvals: {
    title: "审批", waiting: (n) => `${n} 个等待中`, none: "没有需要你处理的调用", noneHint: "需要人批准的调用会立即出现在这里，页面标题会显示数量。", left: (t) => `剩余 ${t}，之后拒绝`, asked: "请求者", rule: "询问原因", since: "始于", approve: "批准", approveWith: (n) => `批准并更改 ${n} 处`, deny: "拒绝…", denyTitle: "拒绝此调用？", denyReason: "给模型的理由（可选）", denyNow: "拒绝", args: "参数", diff: "差异", effect: "此调用的作用", bound: "此调用运行的文件", grant: "下次还询问吗？", grantNo: "每次都询问", grantScope: "范围", scopes: { call: "此调用", session: "此会话", project: "此项目", user: "所有地方" }, simulated: "过去的调用中：", paused: "连接恢复前暂停决定。", decided: "别人已经作出决定。", expired: "时间已到：调用被拒绝。", badEdit: "更改后的参数被拒绝：", newest: "新请求排在下面，你正在阅读的不会移动。", live: "调用", done: (tool) => `已批准 ${tool}。`, denied: (tool) => `已拒绝 ${tool}。`, history: "已决定", notify: "有调用等待时通知我", noGrantWhy: "不提供长期批准：", keyMove: "移动", arrived: (n) => `${n} 个调用等待批准`, previous: "上一个", next: "下一个", position: (a, b) => `第 ${a} 个，共 ${b} 个`, unverified: "按服务器的说法",
    statuses: { pending: "等待中", approved: "已批准", denied: "已拒绝", used: "已批准并使用", expired: "已过期", withdrawn: "已撤回", replaced: "已重新询问" },
  },
  calls: { title: "调用", tool: "工具", caller: "调用者", result: "结果", when: "时间", took: "用时", all: "全部", ok: "成功", failed: "失败", running: "正在运行", waiting: "等待中", anyTool: "全部工具", anyCaller: "全部调用者", none: "没有调用符合这些筛选条件", noneHint: "每个客户端、终端和模型的调用都会出现在这里。", detail: "调用", arguments: "参数", resultOf: "结果", fromRecord: "记录保存参数和错误，不保存返回值。", approval: "审批", sandbox: "沙箱", again: "再次调用", timeline: "时间", queued: "等待", executed: "运行", total: "合计", stop: "停止", lost: "丢失", since: "时间范围", hour: "1 小时", day: "24 小时", week: "7 天", ever: "任何时间", pick: "选择一个调用查看", exportJson: "复制为 JSON", raw: "记录" },
  palette: { title: "调用工具", placeholder: "哪个工具？", hits: (n) => `${n} 个工具`, none: "没有匹配的工具", choose: "选择", arguments: "参数", run: "运行", open: "打开试用", required: "需要", result: "结果" },
  keys: { title: "快捷键", list: [["+ 或 Ctrl K", "调用工具"], ["/", "筛选"], ["j k", "下一个、上一个"], ["Ctrl Enter", "运行、批准"], ["Esc", "停止、关闭"], ["g t, g a, g c", "前往工具、审批、调用"], ["?", "此列表"]] },
  bundles: { title: "工具包", none: "还没有工具包", hint: "工具包把工具归在一起，一起切换，一起转交。", tools: (n) => `${n} 个工具`, export: "导出", import: "导入…", importTitle: "导入工具包", importPick: "选择 ZIP 文件", importText: "按“导入”之前不会保存任何内容。工具包导入后处于关闭状态。", importNow: "导入", imported: (slug) => `已导入 ${slug}。开启之前它保持关闭。`, runs: "其工具运行的内容", reaches: "访问", notes: "说明", bin: "删除", binAsk: (slug) => `删除工具包 ${slug}？`, binText: "它会在回收站保留一段时间，可以恢复。", restore: "恢复", inBin: "在回收站", deleted: (slug) => `已删除 ${slug}。`, change: "更改", kinds: { "built-in": "内置", files: "文件", store: "你的工具包", upstream: "MCP 服务器" }, upstreams: "MCP 服务器", upstreamNone: "没有连接 MCP 服务器。添加一个：", test: "测试", accept: "接受更改", pinned: "已固定", changes: "更改" },
  clients: { title: "客户端", hint: "客户端可以列出、搜索和调用工具，但不能批准自己的调用。", name: "名称", add: "添加客户端", token: "令牌只显示一次，请立即复制。", remove: "移除", removeAsk: (name) => `移除客户端 ${name}？`, removeText: "它的下一个请求会被拒绝，正在运行的调用会被取消，未答复的询问会被拒绝。", none: "还没有客户端拥有令牌", since: "始于", elicits: "询问其使用者", setup: "连接程序", setupHint: "这会写入该程序自己的设置：", mcp: "用于任何其他 MCP 客户端" },
  secrets: { title: "密钥", hint: "仅显示名称：值不会离开服务器。请在终端中设置，页面和模型都看不到：", none: "没有保存密钥", name: "名称", hosts: "可发送至", bundles: "工具包", changed: "更改时间", anyHost: "无主机" },
  settings: { title: "设置", browser: "此浏览器", language: "语言", theme: "外观", system: "跟随系统", light: "浅色", dark: "深色", browsers: "已登录的浏览器", this: "此浏览器", signOut: "退出登录", until: "直到", server: "服务器", version: "版本", home: "主目录", workspace: "工作区", noWorkspace: "无", values: "每项设置及其来源可用此命令打印：", docs: "API 文档", rules: "规则", verdict: "结论", rule: "规则", reason: "原因", origin: "来源" },
  metrics: { title: "指标", calls: "次调用", failed: "失败", median: "中位数", p95: "p95", waits: "正在等待", byTool: "各工具的调用", failures: "各工具的失败", cause: "最常见原因", none: "此期间没有调用", table: "以表格查看", chart: "图表", hour: "1 小时", day: "24 小时", week: "7 天", perHour: "每小时调用", at: "小时", ok: "成功", denials: "被人或规则拒绝（不算失败）" },
  first: { title: "三步得到模型可调用的工具", one: "调用一个工具", oneText: "在页面中试用一个内置工具。", oneGo: "列出此目录", two: "编写自己的工具", twoText: "这会为此项目创建工具目录，并附带一个可用的工具：", three: "连接客户端", threeText: "这让程序可以使用这些工具：", done: "完成", hide: "隐藏" },
};
