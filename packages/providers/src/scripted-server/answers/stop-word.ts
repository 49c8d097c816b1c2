import { ScriptError } from '../script-error.ts';
import type { WireName } from '../wire-name.ts';
import type { WireStop } from './wire-answer.ts';

type StopName = Extract<WireStop, string>;

/** For Responses: `completed`, or the reason of an incomplete one. */
const words: Readonly<Record<WireName, Readonly<Partial<Record<StopName, string>>>>> = {
  'openai-chat': {
    stop: 'stop',
    length: 'length',
    tool_use: 'tool_calls',
    content_filter: 'content_filter',
    refusal: 'stop',
  },
  'openai-responses': {
    stop: 'completed',
    length: 'max_output_tokens',
    tool_use: 'completed',
    content_filter: 'content_filter',
    refusal: 'completed',
  },
  anthropic: {
    stop: 'end_turn',
    length: 'max_tokens',
    tool_use: 'tool_use',
    content_filter: 'sensitive',
    refusal: 'refusal',
    pause: 'pause_turn',
  },
  gemini: { stop: 'STOP', length: 'MAX_TOKENS', tool_use: 'STOP', content_filter: 'SAFETY' },
};

/** The wire's word for a stop. */
export function stopWord(wire: WireName, stop: WireStop): string {
  if (typeof stop === 'object') return stop.raw;
  const word = words[wire][stop];
  if (word !== undefined) return word;
  const wayOut = 'choose another one, or give the raw word';
  throw new ScriptError('not_on_wire', `${wire} has no word for the stop ${stop}: ${wayOut}`);
}
