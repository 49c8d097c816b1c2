import { ScriptedServerError } from '../script.ts';
import type { WireAnswer, WireFailure, WireStop, WireUsage } from './wire-answer.ts';

/** An answer with all defaults filled in. The code that writes the events of each wire format reads it. */
export interface AnswerPlan {
  readonly id: string;
  readonly model: string;
  /** The reasoning, split into one piece for each delta. */
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly toolCalls: readonly PlannedCall[];
  readonly signature: string | undefined;
  readonly usage: WireUsage | undefined;
  readonly stop: WireStop;
  readonly failure: WireFailure | undefined;
}

export interface PlannedCall {
  readonly givenId: string | undefined;
  readonly name: string;
  readonly arguments: string;
  readonly pieces: readonly string[];
}

export function planAnswer(answer: WireAnswer, pieces: WirePieces): AnswerPlan {
  const { reasoning = '', text = '', toolCalls = [], signature, usage, failure } = answer;
  return {
    id: answer.id ?? 'scripted',
    model: answer.model ?? 'scripted-model',
    reasoning: splitText(reasoning, pieces),
    text: splitText(text, pieces),
    toolCalls: toolCalls.map((call) => ({
      givenId: call.id,
      name: call.name,
      arguments: call.arguments,
      pieces: splitText(call.arguments, pieces),
    })),
    signature,
    usage,
    stop: answer.stop ?? (toolCalls.length > 0 ? 'tool_use' : 'stop'),
    failure,
  };
}

/** The creation time of every scripted response, in seconds since 1970. */
export const scriptedTime = 1_700_000_000;

/**
 * The rule that splits a text into deltas.
 *
 * - `whole`: the text is not split.
 * - `words`: before each word.
 * - `characters`: after each character.
 * - a number: after every n characters (code points).
 * - a function: by that function.
 * - `code-units`: between UTF-16 units. This splits surrogate pairs, as some providers do.
 */
export type WirePieces =
  | 'whole'
  | 'words'
  | 'characters'
  | 'code-units'
  | number
  | ((text: string) => readonly string[]);

/** Splits a text into pieces. An empty text has no pieces. */
export function splitText(text: string, pieces: WirePieces): readonly string[] {
  if (text === '') return [];
  if (typeof pieces === 'number') return cutEvery(text, pieces);
  if (typeof pieces === 'function') return assertJoins(text, pieces(text));
  switch (pieces) {
    case 'whole':
      return [text];
    case 'words':
      return text.match(/\s*\S+|\s+/g) ?? [];
    case 'characters':
      return [...text];
    case 'code-units':
      return text.split('');
  }
}

function cutEvery(text: string, length: number): readonly string[] {
  if (!(Number.isInteger(length) && length > 0)) {
    const advice = 'use a whole number from 1';
    throw new ScriptedServerError(
      'bad_script',
      `Cannot cut a text every ${length} characters: ${advice}`,
    );
  }
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / length) }, (_, index) =>
    characters.slice(index * length, (index + 1) * length).join(''),
  );
}

function assertJoins(text: string, pieces: readonly string[]): readonly string[] {
  if (pieces.join('') === text) return pieces;
  throw new ScriptedServerError(
    'bad_script',
    'The pieces do not join to the original text; return pieces that do',
  );
}
