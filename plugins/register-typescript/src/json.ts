// Canonical JSON, as docs/encoding.md defines it: sorted keys, no white space, integers only; as UTF-8, for which QuickJS has no
// TextEncoder.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function encode(value: Json): Uint8Array {
  const text = unescape(encodeURIComponent(canonical(value)));
  return Uint8Array.from(text, (byte) => byte.charCodeAt(0));
}

export function decode<T>(bytes: Uint8Array): T {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return JSON.parse(decodeURIComponent(escape(text)));
}

function canonical(value: Json): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error(`${value} is no integer`);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`);
  return `{${fields.join(",")}}`;
}
