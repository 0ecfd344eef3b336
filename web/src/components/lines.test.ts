import { expect, test } from "vitest";
import { diffLines } from "./lines";

test("lines that both texts have stay, the others are marked", () => {
  expect(diffLines("a\nb\nc", "a\nx\nc\nd")).toBe(" a\n-b\n+x\n c\n+d");
  expect(diffLines("a", "a")).toBe("");
  expect(diffLines("", "a")).toBe("-\n+a");
});
