// A person or a rule said no: nothing failed. The codes are those of `ErrorCode::is_refusal` in the server.

const REFUSALS = new Set(["APPROVAL_DENIED", "APPROVAL_EXPIRED", "APPROVAL_UNAVAILABLE", "BLOCKED_BY_RULE"]);

export const isRefusal = (code: string | null | undefined) => code !== null && code !== undefined && REFUSALS.has(code);
