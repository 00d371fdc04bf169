// Canonical JSON, as docs/encoding.md defines it, for flat objects. Writing is done with template strings whose keys are sorted.

/** The number of a field. */
export function field(text: string, key: string): u32 {
  const name = `"${key}":`;
  const at = text.indexOf(name);
  assert(at >= 0, "a message lacks a field");
  return number(text, at + name.length);
}

/** The string of a field. */
export function word(text: string, key: string): string {
  const name = `"${key}":"`;
  const at = text.indexOf(name);
  assert(at >= 0, "a message lacks a field");
  return text.substring(at + name.length, text.indexOf('"', at + name.length));
}

/** The numbers of an array. */
export function numbers(text: string): u32[] {
  const found: u32[] = [];
  let at = 1;
  while (at < text.length && text.charCodeAt(at) != 0x5d) {
    found.push(number(text, at));
    at = text.indexOf(",", at) + 1;
    if (at == 0) break;
  }
  return found;
}

/** An array of numbers. */
export function array(values: u32[]): string {
  return `[${values.join(",")}]`;
}

function number(text: string, at: i32): u32 {
  let value: u32 = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) break;
    value = 10 * value + digit;
  }
  return value;
}
