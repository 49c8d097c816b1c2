import { type DeltaWriter, isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { objectsIn } from '../json/fields.ts';

/** The log probability of one token, in Millrace's format: `{ token, logprob, top? }`. */
export type LogprobEntry = JsonObject;

/** Maximum number of tokens and alternatives. A larger number would not fit into the metadata of a part. */
const maxTokens = 100_000;

/** Collects the log probabilities of one part while it streams. */
export class Logprobs {
  readonly #entries: LogprobEntry[] = [];
  #left = maxTokens;

  add(entries: readonly LogprobEntry[]): void {
    for (const entry of entries) {
      this.#left -= 1 + objectsIn(entry, 'top').length;
      if (this.#left < 0) return;
      this.#entries.push(entry);
    }
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Writes the log probabilities as a custom part. Used if they do not belong to a text. */
  write(writer: DeltaWriter): void {
    if (this.isEmpty) return;
    const { metadata } = this;
    writer.whole({ kind: 'custom', name: 'logprobs', value: null, metadata });
  }

  /**
   * Returns the log probabilities as metadata of the part. `logprobsCut` is true if there were too
   * many tokens.
   */
  get metadata(): JsonObject {
    return { logprobs: this.#entries, ...(this.#left < 0 ? { logprobsCut: true } : {}) };
  }
}

/** Reads the format of OpenAI: `[{ token, logprob, top_logprobs: [{ token, logprob }] }]`. */
export function openaiLogprobs(entries: readonly JsonObject[]): readonly LogprobEntry[] {
  return entries.flatMap((entry): LogprobEntry | readonly LogprobEntry[] => {
    const own = tokenOf(entry['token'], entry['logprob']);
    if (own === undefined) return [];
    const top = objectsIn(entry, 'top_logprobs').flatMap(
      ({ token, logprob }) => tokenOf(token, logprob) ?? [],
    );
    return top.length === 0 ? own : { ...own, top };
  });
}

/**
 * Reads the format of Gemini, which has one list of chosen tokens and one list of likely tokens for each
 * step.
 */
export function geminiLogprobs(result: JsonObject): readonly LogprobEntry[] {
  const steps = objectsIn(result, 'topCandidates');
  const chosen = objectsIn(result, 'chosenCandidates');
  return chosen.flatMap((token, index): LogprobEntry | readonly LogprobEntry[] => {
    const own = geminiToken(token);
    if (own === undefined) return [];
    const top = objectsIn(steps[index], 'candidates').flatMap((one) => geminiToken(one) ?? []);
    return top.length === 0 ? own : { ...own, top };
  });
}

function geminiToken({ token, logProbability }: JsonObject): LogprobEntry | undefined {
  return tokenOf(token, logProbability);
}

function tokenOf(
  token: JsonValue | undefined,
  logprob: JsonValue | undefined,
): LogprobEntry | undefined {
  return typeof token === 'string' && typeof logprob === 'number' ? { token, logprob } : undefined;
}

/**
 * Returns the log probabilities in the field `logprobs` of a choice. They belong to the choice's text or to
 * its refusal.
 */
export function chatLogprobs(logprobs: JsonValue | undefined): readonly LogprobEntry[] {
  if (!isJsonObject(logprobs)) return [];
  return openaiLogprobs([...objectsIn(logprobs, 'content'), ...objectsIn(logprobs, 'refusal')]);
}
