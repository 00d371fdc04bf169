// What a plugin finds of a system that is none, and of what browsers and Node.js have beside the language. It wants `environment`.
//
// The clock stands still, random bytes are the same each time, what is written goes to `log`. What no plugin has is a `Platform`.

/** What no plugin has was asked for. */
class Platform extends Error {}

const platform = (() => {
  /** It is always 2001-09-09 01:46:40 UTC, one billion seconds after 1970. */
  const NOW = 1e12;
  const RealDate = Date;
  RealDate.now = () => NOW;
  const StillDate = new Proxy(RealDate, {
    construct: (target, given, made) => Reflect.construct(target, given.length > 0 ? given : [NOW], made),
    apply: () => new RealDate(NOW).toString(),
  });
  RealDate.prototype.constructor = StillDate;

  // As `mulberry32`: what it has drawn is in the memory of the node.
  let drawn = 0;
  Math.random = () => {
    drawn = (drawn + 0x6d2b79f5) | 0;
    let mixed = Math.imul(drawn ^ (drawn >>> 15), 1 | drawn);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  // The bytes of the adapter for WASI.
  const bytes = (length) => Uint8Array.from({ length }, (_, at) => Math.imul(at + 1, 0x9e3779b1) >>> 24);
  const crypto = {
    getRandomValues(array) {
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes(array.byteLength));
      return array;
    },
    randomUUID() {
      const id = bytes(16);
      id[6] = (id[6] & 0x0f) | 0x40;
      id[8] = (id[8] & 0x3f) | 0x80;
      const hex = Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    },
  };

  /** A value as words for people. */
  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value}`;
    const inside = (_, part) => {
      if (typeof part === "bigint") return `${part}n`;
      if (part instanceof Map) return Object.fromEntries(Array.from(part, ([key, of]) => [shown(key), of]));
      return part instanceof Set ? [...part] : part;
    };
    try {
      return (typeof value === "object" && JSON.stringify(value, inside)) || String(value);
    } catch {
      return String(value);
    }
  }

  function log(...values) {
    const format = values[0];
    if (typeof format === "string" && format.includes("%")) {
      let next = 1;
      const filled = format.replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === "%%") return "%";
        if (next >= values.length) return mark;
        return mark === "%c" ? (next++, "") : shown(values[next++]);
      });
      values.splice(0, next, filled);
    }
    for (const line of values.map(shown).join(" ").split("\n")) environment.log(line);
  }
  const ignored = () => undefined;
  const console = { log, info: log, debug: log, warn: log, error: log, trace: log, dir: log, table: log, group: log };
  for (const name of ["groupEnd", "time", "timeEnd", "timeLog", "count", "countReset", "clear"]) console[name] = ignored;
  console.assert = (holds, ...values) => holds || log("Assertion failed:", ...values);

  class TextEncoder {
    encoding = "utf-8";
    encode(text = "") {
      const encoded = [];
      for (const sign of String(text)) {
        let point = sign.codePointAt(0);
        if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
        if (point < 0x80) encoded.push(point);
        else if (point < 0x800) encoded.push(0xc0 | (point >> 6), 0x80 | (point & 63));
        else if (point < 0x10000) encoded.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
        else {
          const rest = [(point >> 12) & 63, (point >> 6) & 63, point & 63];
          encoded.push(0xf0 | (point >> 18), ...rest.map((bits) => 0x80 | bits));
        }
      }
      return Uint8Array.from(encoded);
    }
    encodeInto(text, array) {
      let [read, written] = [0, 0];
      for (const sign of String(text)) {
        const encoded = this.encode(sign);
        if (written + encoded.length > array.length) break;
        array.set(encoded, written);
        written += encoded.length;
        read += sign.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    encoding = "utf-8";
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`there is UTF-8, and no ${label}`);
      this.fatal = fatal;
      this.ignoreBOM = ignoreBOM;
    }
    decode(from = new Uint8Array(), { stream = false } = {}) {
      if (stream) throw new Platform("a decoder that waits for more: TextDecoder");
      const given = ArrayBuffer.isView(from)
        ? new Uint8Array(from.buffer, from.byteOffset, from.byteLength)
        : new Uint8Array(from);
      let [text, at] = ["", 0];
      if (!this.ignoreBOM && given[0] === 0xef && given[1] === 0xbb && given[2] === 0xbf) at = 3;
      while (at < given.length) {
        const { point, length } = this.#sign(given, at);
        text += String.fromCodePoint(point);
        at += length;
      }
      return text;
    }
    // One sign, or what stands for the longest start of one.
    #sign(given, at) {
      const first = given[at];
      if (first < 0x80) return { point: first, length: 1 };
      const count = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
      const least = { 0xe0: 0xa0, 0xf0: 0x90 }[first] ?? 0x80;
      const most = { 0xed: 0x9f, 0xf4: 0x8f }[first] ?? 0xbf;
      let [point, length] = [first & (0x3f >> count), 1];
      for (; length <= count; length++) {
        const next = given[at + length];
        const fits = length === 1 ? next >= least && next <= most : next >= 0x80 && next <= 0xbf;
        if (!fits) break;
        point = (point << 6) | (next & 63);
      }
      if (count > 0 && length > count) return { point, length };
      if (this.fatal) throw new TypeError("it is no UTF-8");
      return { point: 0xfffd, length };
    }
  }

  function structuredClone(value, { transfer } = {}) {
    if (transfer?.length) throw new Platform("a transfer of buffers: structuredClone");
    const copies = new Map();
    const refused = (part) => {
      throw Object.assign(new Error(`${String(part)} could not be cloned.`), { name: "DataCloneError" });
    };
    const made = (part) => {
      if (Array.isArray(part)) return new Array(part.length);
      if (part instanceof RealDate) return new StillDate(part.getTime());
      if (part instanceof RegExp) return new RegExp(part.source, part.flags);
      if (part instanceof ArrayBuffer) return part.slice(0);
      if (ArrayBuffer.isView(part)) {
        return new part.constructor(copied(part.buffer), part.byteOffset, part.length ?? part.byteLength);
      }
      if (part instanceof Map) return new Map();
      if (part instanceof Set) return new Set();
      if (part instanceof Error) return Object.assign(Object.create(Object.getPrototypeOf(part)), { stack: part.stack });
      if (part instanceof promises.Promise || part instanceof WeakMap || part instanceof WeakSet) return refused(part);
      const boxed = [Number, String, Boolean, BigInt].find((of) => part instanceof of);
      return boxed ? Object(part.valueOf()) : {};
    };
    const copied = (part) => {
      if (typeof part === "function" || typeof part === "symbol") return refused(part);
      if (typeof part !== "object" || part === null) return part;
      if (copies.has(part)) return copies.get(part);
      const copy = made(part);
      copies.set(part, copy);
      if (part instanceof Map) for (const [key, of] of part) copy.set(copied(key), copied(of));
      if (part instanceof Set) for (const of of part) copy.add(copied(of));
      if (part instanceof Error) copy.message = part.message;
      const isBytes = ArrayBuffer.isView(part) || part instanceof ArrayBuffer || part instanceof String;
      if (!isBytes) for (const key of Object.keys(part)) copy[key] = copied(part[key]);
      return copy;
    };
    return copied(value);
  }

  const performance = { now: () => 0, timeOrigin: NOW };
  const { Promise, queueMicrotask } = promises;
  const of = { TextEncoder, TextDecoder, Promise, queueMicrotask };
  const given = { Date: StillDate, console, crypto, performance, structuredClone, ...of };
  const absent = {
    "a timer": ["setTimeout", "setInterval", "setImmediate", "requestAnimationFrame"],
    "a socket": ["fetch", "WebSocket", "XMLHttpRequest", "EventSource"],
    "a thread": ["Worker"],
  };
  for (const [what, names] of Object.entries(absent)) {
    for (const name of names) {
      given[name] = function () {
        throw new Platform(`${what}: ${name}`);
      };
    }
  }
  for (const name of ["clearTimeout", "clearInterval", "clearImmediate"]) given[name] = ignored;
  for (const [name, value] of Object.entries(given)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }

  /** What no plugin has and was asked for; nothing if the plugin or its library is wrong. */
  function wanted(error) {
    if (error instanceof Platform) return error.message;
    // What Node.js and browsers have as globals besides, so that a library asks for it by its name.
    const names = "process|Buffer|global|window|self|document|navigator|localStorage|require|module|Intl|URL|URLSearchParams|"
      + "AbortController|AbortSignal|Event|EventTarget|MessageChannel|BroadcastChannel|SharedArrayBuffer|WebAssembly|atob|btoa";
    const name = error instanceof ReferenceError && new RegExp(`\\b(${names})\\b.* is not defined`).exec(error.message);
    return name ? `a global of Node.js or of browsers: ${name[1]}` : undefined;
  }
  return { wanted };
})();
