// Requests to the server of the page, and what may go wrong with them.

import type { Refusal } from "./api";
import { plainJson } from "./plain";
import { Player } from "./recording/player";
import { recordingOf } from "./recording/recording";

const BASE = "api/v1/";

const recording = recordingOf(document);
const player = recording && new Player(recording);

/** The number of answers of the server so far, refusals among them. */
export let answers = 0;

/** The page is a bundle: it has a recording, and no server. */
export const isRecorded = player !== null;

/** The server refuses a request and says why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly help: string | null,
  ) {
    super(message);
  }
}

/** No server answers. */
export class Ended extends Error {}

type Method = "GET" | "POST" | "DELETE";

async function answer(method: Method, path: string, body: string | null, signal: AbortSignal | null): Promise<string> {
  if (player) return played(player, method, path, body);
  const headers: Record<string, string> = body === null ? {} : { "Content-Type": "application/json" };
  let response: Response;
  let text: string;
  try {
    response = await fetch(BASE + path, { method, headers, body, signal, cache: "no-store" });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Ended("no answer");
  }
  answers += 1;
  if (response.ok) return text;
  throw refused(response.status, text);
}

function played(player: Player, method: Method, path: string, body: string | null): string {
  const answered = player.answer(method, path, body);
  if (answered) return JSON.stringify(answered);
  throw new Refused(404, "this page is a recording, without an answer to that", "`host explore` with the trace continues from any step.");
}

function refused(status: number, text: string): Refused {
  try {
    const refusal = plainJson(text) as Partial<Refusal>;
    if (typeof refusal.error === "string") return new Refused(status, refusal.error, refusal.help ?? null);
  } catch {
    // Not a refusal of the API: shown as it is.
  }
  return new Refused(status, `the server answers with ${status}: ${text.slice(0, 200)}`, null);
}

export async function get<T>(path: string, signal: AbortSignal | null = null): Promise<T> {
  return plainJson(await answer("GET", path, null, signal)) as T;
}

/** Posts a value, or a text that is JSON already. */
export async function post<T>(path: string, body: object | string, signal: AbortSignal | null = null): Promise<T> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answered = await answer("POST", path, text, signal);
  return (answered === "" ? {} : plainJson(answered)) as T;
}

export async function remove(path: string): Promise<void> {
  await answer("DELETE", path, null, null);
}

/** The address of a file that the server gives. */
export function address(path: string): string {
  return BASE + path;
}
