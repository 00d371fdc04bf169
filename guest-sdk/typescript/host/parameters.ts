// The configuration of a protocol: parameters are declared once.
//
//   const settings = declare({
//     retries: number(3, "how often a request is sent again"),
//     mode: oneOf(["safe", "fast"], "what to prefer"),
//   });
//   const { retries, mode } = settings.read(config);
//
// Errors are thrown as strings that name the key, as the host wants them.

/** A parameter whose values have type T. */
export interface Parameter<T> {
  readonly defaultValue: string;
  readonly meaning: string;
  /** The value of a text, or why there is none. */
  parse(text: string): { value: T } | { reason: string };
}

const NUMBER_MAX = 2 ** 32 - 1;

/** A whole number from 0 to 2^32 - 1. */
export function number(defaultValue: number, meaning: string): Parameter<number> {
  const parse = (text: string) =>
    /^[0-9]+$/.test(text) && Number(text) <= NUMBER_MAX
      ? { value: Number(text) }
      : { reason: `it is a whole number from 0 to ${NUMBER_MAX}` };
  return { defaultValue: String(defaultValue), meaning, parse };
}

/** `true` or `false`. */
export function flag(defaultValue: boolean, meaning: string): Parameter<boolean> {
  const parse = (text: string) =>
    text === "true" || text === "false" ? { value: text === "true" } : { reason: "it is true or false" };
  return { defaultValue: String(defaultValue), meaning, parse };
}

/** Any text. */
export function text(defaultValue: string, meaning: string): Parameter<string> {
  return { defaultValue, meaning, parse: (value) => ({ value }) };
}

/** One of a few words; the first is the default. */
export function oneOf<const Word extends string>(words: readonly [Word, ...Word[]], meaning: string): Parameter<Word> {
  const list = words.join(", ");
  const parse = (text: string) => {
    const value = words.find((word) => word === text);
    return value === undefined ? { reason: `it is one of ${list}` } : { value };
  };
  return { defaultValue: words[0], meaning: `${meaning} (one of ${list})`, parse };
}

/** The values of declared parameters. */
export type Values<Declared> = { [Key in keyof Declared]: Declared[Key] extends Parameter<infer T> ? T : never };

/** The parameters of a protocol; the keys are their names. */
export function declare<Declared extends Record<string, Parameter<unknown>>>(declared: Declared) {
  return {
    /** For `about`. */
    listed: Object.entries(declared).map(([name, { defaultValue, meaning }]) => ({ name, defaultValue, meaning })),

    /** The values that were given, one `key=value` a line, and the defaults of the others. */
    read(config: string): Values<Declared> {
      const given = new Map<string, string>();
      for (const line of config.split("\n").filter((line) => line !== "")) {
        const at = line.indexOf("=");
        if (at < 0) throw `configuration line ${JSON.stringify(line)} is not key=value`;
        const key = line.slice(0, at);
        if (given.has(key)) throw `parameter ${key} is given twice`;
        given.set(key, line.slice(at + 1));
      }
      const values = Object.entries(declared).map(([name, { defaultValue, parse }]) => {
        const value = given.get(name) ?? defaultValue;
        const parsed = parse(value);
        if ("reason" in parsed) throw reject(name, value, parsed.reason);
        return [name, parsed.value];
      });
      for (const key of given.keys()) {
        if (!Object.hasOwn(declared, key)) {
          throw `there is no parameter ${key}; known are: ${Object.keys(declared).join(", ") || "none"}`;
        }
      }
      return Object.fromEntries(values);
    },
  };
}

/** An error for a value that is well-formed but does not fit, such as more proposers than nodes; to be thrown. */
export function reject(name: string, value: unknown, reason: string): string {
  return `parameter ${name} cannot be ${JSON.stringify(String(value))}: ${reason}`;
}
