// Canonical JSON, as docs/encoding.md defines it: sorted keys, no white space, integers only; as UTF-8, for which QuickJS has no
// TextEncoder.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What can be encoded; objects with a method `toJSON` are encoded as what that returns. */
export type Encodable =
  | null
  | boolean
  | number
  | string
  | readonly Encodable[]
  | { toJSON(): Encodable }
  | { readonly [key: string]: Encodable };

export function encode(value: Encodable): Uint8Array {
  return utf8(canonical(value));
}

export function decode<T>(bytes: Uint8Array): T {
  return JSON.parse(textOf(bytes));
}

/** A text as UTF-8. */
export function utf8(text: string): Uint8Array {
  return Uint8Array.from(unescape(encodeURIComponent(text)), (byte) => byte.charCodeAt(0));
}

/** The text of UTF-8; throws a URIError if it is none. */
export function textOf(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return decodeURIComponent(escape(text));
}

/** The one text of a value. */
export function canonical(value: Encodable): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error(`${value} is no integer`);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return canonical((value as { toJSON(): Encodable }).toJSON());
  }
  const object = value as { [key: string]: Encodable };
  const fields = Object.keys(object).sort().map((key) => `${JSON.stringify(key)}:${canonical(object[key]!)}`);
  return `{${fields.join(",")}}`;
}
