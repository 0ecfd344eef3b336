// Passes requests on to a server, each with its token: the suites have none.
//
//   node with-token.mjs http://HOST:PORT TOKEN      prints the address at which it listens
import http from "node:http";

const [target, token] = [new URL(process.argv[2]), process.argv[3]];
const proxy = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, host: target.host, authorization: `Bearer ${token}` };
  const passed = http.request(
    { host: target.hostname, port: target.port, path: asked.url, method: asked.method, headers },
    (answered) => {
      answer.writeHead(answered.statusCode, answered.headers);
      answered.pipe(answer);
    },
  );
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}`));
