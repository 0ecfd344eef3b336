/** Gives a text or a file to the person, under a name. */
export function download(name: string, content: string | Blob) {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type: "application/json" }) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
