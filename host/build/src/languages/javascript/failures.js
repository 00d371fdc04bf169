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
    return object()[called](...given);
  } catch (error) {
    throw refusing.includes(called) && !(error instanceof Error) ? error : explained(error);
  }
}

/** Tells the host; what is left to throw is no answer of any function. */
function explained(error) {
  // Lines are those of the bundle, so functions say more. Some have no name, such as those of the engine.
  const functions = error instanceof Error ? [...error.stack.matchAll(/at ([\w.]+) \(/g)].map((found) => found[1]) : [];
  const place = functions.slice(0, functions.indexOf("calledByHost")).join(", ");
  environment.log(`panic: ${error}${place && ` (in ${place})`}`);
  return undefined;
}
