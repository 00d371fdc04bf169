// All that can be reached from a value, as bytes: `serialize` for a library whose state has no encoding.

/**
 * Encodes what can be reached from a value: properties, also of objects whose classes are private to a library, and the content of
 * arrays, maps, sets and buffers. What is in several places counts once, with the places.
 *
 * Properties named in `without`, such as `Node.logger` after the class, are left out; one whose value has no effect can be named there.
 * Properties, maps and sets are in their order, since a program sees it. Not seen are `#private` fields, what functions have captured,
 * and the variables of modules: if a handler reads one of these, an audit finds it. A promise or a WeakMap is a TypeError.
 */
export function reachable(value: unknown, without: string[] = []): Uint8Array {
  const walk = new Walk(new Set(without));
  walk.value(value);
  return new TextEncoder().encode(walk.words.join(""));
}

class Walk {
  words: string[] = [];
  #numbers = new Map<object, number>();

  constructor(readonly without: Set<string>) {}

  /** A word with its length before it, so that no two lists of words are the same text. */
  word(word: string): void {
    this.words.push(`${word.length}:${word}`);
  }

  value(value: unknown): void {
    if (typeof value === "function" || (typeof value === "object" && value !== null)) return this.object(value);
    this.word(typeof value);
    this.word(Object.is(value, -0) ? "-0" : String(value));
  }

  object(object: object): void {
    const known = this.#numbers.get(object);
    if (known !== undefined) return this.word(`seen ${known}`);
    this.#numbers.set(object, this.#numbers.size);
    const kind = typeof object === "function" ? "function" : className(object);
    this.word(kind);
    this.content(object);
    for (const key of Reflect.ownKeys(object)) {
      if (this.without.has(`${kind}.${String(key)}`) || isImplied(object, key)) continue;
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key)!;
      this.word(String(key));
      this.value(get ?? set ?? value);
    }
    this.word("");
  }

  /** What an object holds apart from its properties. */
  content(object: object): void {
    if (object instanceof Map) {
      this.word(`${object.size}`);
      for (const [key, value] of object) this.value([key, value]);
    } else if (object instanceof Set) {
      this.word(`${object.size}`);
      for (const value of object) this.value([value]);
    } else if (object instanceof ArrayBuffer) {
      this.word(new Uint8Array(object).join());
    } else if (ArrayBuffer.isView(object)) {
      this.value([object.buffer, object.byteOffset, object.byteLength]);
    } else if (object instanceof Date) {
      this.word(`${object.getTime()}`);
    } else if (object instanceof RegExp) {
      this.word(`${object}`);
    } else if (object instanceof Error) {
      this.word(`${object}`);
    } else if (object instanceof Number || object instanceof String || object instanceof Boolean || object instanceof BigInt) {
      this.value(object.valueOf());
    } else if (typeof object === "function") {
      this.word(object.name);
    } else if ([Promise, WeakMap, WeakSet, WeakRef].some((of) => object instanceof of) || isGenerator(object)) {
      throw new TypeError(`a ${className(object)} has no encoding`);
    }
  }
}

function className(object: object): string {
  const made = Object.getPrototypeOf(object)?.constructor?.name;
  return typeof made === "string" ? made : "none";
}

/** A property that what the object holds tells, or where it was made. */
function isImplied(object: object, key: string | symbol): boolean {
  if (typeof object === "function") return ["length", "name", "prototype", "arguments", "caller"].includes(String(key));
  if (object instanceof Error) return ["stack", "message"].includes(String(key));
  const isText = object instanceof String || ArrayBuffer.isView(object);
  return isText && typeof key === "string" && (key === "length" || /^\d+$/.test(key));
}

function isGenerator(object: object): boolean {
  return ["[object Generator]", "[object AsyncGenerator]"].includes(Object.prototype.toString.call(object));
}
