// What the host calls stands before what the plugin exports, and tells why that fails.
//
// Where a function can refuse, the engine takes what is thrown for its answer. So words and responses are passed on there, but no
// errors: an invariant that cannot be evaluated would be one that does not hold.

const refusing = ["init", "invariant", "accept"];

/** Stands for an object that the plugin exports. The engine looks its functions up at each call. */
function standing(object) {
  return new Proxy({}, { get: (_, called) => (...given) => calledByHost(object, called, given) });
}

function calledByHost(object, called, given) {
  try {
    return promises.settle(object()[called](...given), called);
  } catch (error) {
    throw refusing.includes(called) && !(error instanceof Error) ? error : explained(error);
  }
}

/** Tells the host; what is left to throw is no answer of any function. */
function explained(error) {
  const wanted = platform.wanted(error);
  const words = wanted === undefined ? `panic: ${error}` : `host:platform ${wanted}`;
  const place = error instanceof Error ? placeOf(error.stack) : "";
  environment.log(`${words}${place && ` (${place})`}`);
  return undefined;
}

/** The first place in a file of the plugin, else in one of its libraries; else the functions, which may have no names. */
function placeOf(stack) {
  const frames = stack.split("\n").slice(0, stack.split("\n").findIndex((frame) => frame.includes("calledByHost")));
  const places = frames.map(sourceOf).filter((place) => place !== undefined);
  const own = places.find((place) => !place.includes("node_modules/"));
  const named = frames.map((frame) => /at ([\w.]+) \(/.exec(frame)?.[1]);
  const functions = named.filter((name) => name !== undefined && name !== "Platform" && name !== "settle");
  return own ?? places[0] ?? (functions.length > 0 ? `in ${functions.join(", ")}` : "");
}

/** File and line of a frame, by the lines of the bundle that `host build` puts behind it. */
function sourceOf(frame) {
  const { file, files, lines, before } = globalThis[Symbol.for("host:sources")] ?? {};
  const found = /\(?([^() ]+):(\d+):\d+\)?$/.exec(frame);
  if (!lines || !found || !found[1].endsWith(file)) return undefined;
  const line = lines.split(" ")[Number(found[2]) - 1 - before];
  const [of, at] = line ? line.split(":") : [];
  return at === undefined ? undefined : `${files[of]}:${at}`;
}
