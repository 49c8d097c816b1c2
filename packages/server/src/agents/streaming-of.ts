import type { ModelRequest, Provider, StreamStep } from '@millrace/providers';
import type { Streaming } from '../contract/served-agent.ts';
import { sendOn } from './stream-auto.ts';
import { openMessage } from './stream-open.ts';
import type { TurnDesk } from './turn-desk.ts';

/** What a handler streams with. */
export function streamingOf(desk: TurnDesk): Streaming {
  return {
    auto: (...asked: Asked) => sendOn(desk, stepsOf(desk, asked)),
    open: (content, { sinks = [] } = {}) => openMessage(desk, content, sinks),
  };
}

type Asked =
  | readonly [steps: AsyncIterable<StreamStep>]
  | readonly [provider: Pick<Provider, 'stream'>, request: ModelRequest];

function stepsOf({ turn: { turn, attempt }, ids, signal, trace }: TurnDesk, asked: Asked) {
  if (asked.length === 1) return asked[0];
  const [provider, request] = asked;
  const item = { id: ids.item(), turn, attempt };
  return provider.stream(request, { item, ids, signal, trace });
}
