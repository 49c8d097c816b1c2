import { once } from 'node:events';
import { createAgent, type Observer } from '@millrace/agent';
import { randomIds, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { wrapProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { someOf } from '../../../../../packages/core/src/testing/runs.ts';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { noExtensions } from '../../extensions/load-extensions.ts';
import { Conversation } from './conversation.ts';

/** The moments of an abort, in the order of their records. */
const moments = ['abort queued', 'aborted', 'turn_finished', 'run_finished'] as const;
type Moment = (typeof moments)[number];

/** Where the moment is noticed: in the run, or in the view that follows the log. */
const places = ['run', 'view'] as const;

/** After this number of microtasks, the run is over in every case. */
const lastDelay = 40;

const cases = moments.flatMap((moment) =>
  places.flatMap((place) =>
    Array.from({ length: lastDelay + 1 }, (_, delay) => ({ moment, place, delay })),
  ),
);

describe('a message that is sent while a run ends after a stop', () => {
  test.each(someOf(cases))(
    'is answered: $delay microtasks after $moment in the $place',
    async ({ moment, place, delay }) => {
      const chat = startConversation((seen, where) => {
        if (seen === moment && where === place) void sendLater(chat.conversation, delay);
      });
      await chat.stopFirstRun();
      await expect.poll(() => chat.texts()).toEqual(['First', 'Second', 'Two.']);
      expect(chat.putBack).toEqual([]);
    },
  );
});

async function sendLater(conversation: Conversation, delay: number): Promise<void> {
  for (let step = 0; step < delay; step++) await Promise.resolve();
  await conversation.send('Second');
}

function startConversation(onMoment: (moment: Moment, place: (typeof places)[number]) => void) {
  const log = memoryLog();
  const session = sessionId('chat');
  const requested = Promise.withResolvers<void>();
  let requests = 0;
  // Only the stop ends the first request.
  const provider = wrapProvider(
    scriptedProvider(['One.', 'Two.']),
    async function* (given, context, next) {
      if (requests++ === 0) {
        requested.resolve();
        await once(context.signal ?? AbortSignal.abort(), 'abort');
      }
      yield* next(given, context);
    },
  );
  const isNoticed = new Set<string>();
  const notice = (seen: string, place: (typeof places)[number]) => {
    const moment = moments.find((one) => one === seen);
    if (moment === undefined || isNoticed.has(`${moment} ${place}`)) return;
    isNoticed.add(`${moment} ${place}`);
    onMoment(moment, place);
  };
  const observe: Observer = ({ fact }) => {
    if (fact === undefined) return;
    const isAbort = fact.type === 'command_queued' && fact.command['type'] === 'abort';
    notice(isAbort ? 'abort queued' : fact.type, 'run');
  };
  const agent = createAgent({ provider, log, observers: [observe] });
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const putBack: string[] = [];
  const conversation = new Conversation({
    ...{ log, session, cwd: '/folder', clock: new VirtualClock(), takeOutputs: () => [] },
    built: () => ({ agent, mode: () => 'ask', extensions: noExtensions }),
    newKey: () => ids.execution(),
    ...{ print: () => {}, onChange: () => {}, onCallFinished: () => {}, onRunEnded: () => {} },
    putBack: (text) => putBack.push(text),
    onEvent: (event) => {
      const isAbort = event.type === 'command_queued' && event.command['type'] === 'abort';
      notice(isAbort ? 'abort queued' : event.type, 'view');
    },
  });
  onTestFinished(() => conversation.close());
  return {
    conversation,
    putBack,
    async stopFirstRun() {
      await conversation.send('First');
      await requested.promise;
      await expect.poll(() => conversation.state.run).toBeDefined();
      await conversation.stop();
    },
    async texts() {
      const items = transcript(await snapshot(log, session));
      return items.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
    },
  };
}
