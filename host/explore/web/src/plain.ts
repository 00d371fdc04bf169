// Texts of plugins are shown as text. What would change how the text around them is read is made visible.

// Controls, line and paragraph separators, and what reverses or isolates the direction of writing.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const MAY_HIDE = /\\[ubfr]|[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

function visible(letter: string): string {
  return `‹U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}›`;
}

export function plain(text: string): string {
  return text.replace(HIDDEN, visible);
}

/** Parses JSON; all its texts are plain. */
export function plainJson(text: string): unknown {
  if (!MAY_HIDE.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? plain(value) : value));
}

/** The first letters of a text. */
export function clipped(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 1))}…`;
}
