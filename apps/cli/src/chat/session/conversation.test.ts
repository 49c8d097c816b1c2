import { once } from 'node:events';
import { createAgent, type Observer } from '@millrace/agent';
import { randomIds, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { wrapProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withDelay } from '../../../../../packages/agent/src/testing/test-doubles.ts';
import { someOf } from '../../../../../packages/core/src/testing/runs.ts';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { noExtensions } from '../../extensions/load-extensions.ts';
import { Conversation } from './conversation.ts';

/** The moments of an abort, in the order of their records. */
const moments = ['abort queued', 'aborted', 'turn_finished', 'run_finished'] as const;

/** Where the moment is noticed: in the run, or in the view that follows the log. */
const places = ['run', 'view'] as const;

type OnMoment = (moment: (typeof moments)[number], place: (typeof places)[number]) => void;

/** After this number of microtasks, the run is over in every case. */
const lastDelay = 40;

const cases = moments.flatMap((moment) =>
  places.flatMap((place) =>
    Array.from({ length: lastDelay + 1 }, (_, delay) => ({ moment, place, delay })),
  ),
);

const casesOfOthers = cases.filter(({ place }) => place === 'view');

describe('a message that is sent while a run ends after a stop', () => {
  test.each(someOf(cases))(
    'is answered: $delay microtasks after $moment in the $place',
    async ({ moment, place, delay }) => {
      const session = startSession();
      const chat = session.join((seen, where) => {
        if (seen === moment && where === place) void sendLater(chat.conversation, delay);
      });
      await chat.conversation.send('First');
      await session.requested;
      await chat.conversation.stop();
      await expect.poll(() => session.texts()).toEqual(['First', 'Second', 'Two.']);
      expect(chat.putBack).toEqual([]);
    },
  );

  test.each(someOf(casesOfOthers))(
    'is answered if another terminal drove the run: $delay microtasks after $moment',
    async ({ moment, delay }) => {
      const session = startSession();
      const driver = session.join(() => {}, slowly);
      await driver.conversation.send('First');
      await session.requested;
      const chat = session.join((seen, where) => {
        if (seen === moment && where === 'view') void sendLater(chat.conversation, delay);
      });
      await chat.conversation.open();
      await chat.conversation.resumeInterrupted();
      await driver.conversation.stop();
      const texts = () => {
        // The terminal checks every second whether the other one still drives.
        chat.clock.advance(1000);
        return session.texts();
      };
      await expect.poll(texts).toEqual(['First', 'Second', 'Two.']);
      expect(chat.putBack).toEqual([]);
    },
  );
});

async function sendLater(conversation: Conversation, delay: number): Promise<void> {
  for (let step = 0; step < delay; step++) await Promise.resolve();
  await conversation.send('Second');
}

/** Returns the log of a driver whose writes take several rounds of the event loop. */
function slowly(log: Log): Log {
  return withDelay(log, async () => {
    for (let round = 0; round < 5; round++) await new Promise(setImmediate);
  });
}

/** A session whose first request ends only with a stop. Several terminals can join it. */
function startSession() {
  const log = memoryLog();
  const session = sessionId('chat');
  const requested = Promise.withResolvers<void>();
  let requests = 0;
  const script = scriptedProvider(['One.', 'Two.']);
  const provider = wrapProvider(script, async function* (given, context, next) {
    if (requests++ === 0) {
      requested.resolve();
      await once(context.signal ?? AbortSignal.abort(), 'abort');
    }
    yield* next(given, context);
  });
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  return {
    requested: requested.promise,
    async texts() {
      const items = transcript(await snapshot(log, session));
      return items.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
    },
    join(onMoment: OnMoment, opened: (log: Log) => Log = (one) => one) {
      const isNoticed = new Set<string>();
      const notice = (type: string, command: unknown, place: (typeof places)[number]) => {
        const seen = type === 'command_queued' && command === 'abort' ? 'abort queued' : type;
        const moment = moments.find((one) => one === seen);
        if (moment === undefined || isNoticed.has(`${moment} ${place}`)) return;
        isNoticed.add(`${moment} ${place}`);
        onMoment(moment, place);
      };
      const observe: Observer = ({ fact }) => {
        if (fact !== undefined) notice(fact.type, 'command' in fact && fact.command['type'], 'run');
      };
      const agent = createAgent({ provider, log: opened(log), observers: [observe] });
      const clock = new VirtualClock();
      const putBack: string[] = [];
      const conversation = new Conversation({
        ...{ log, session, cwd: '/folder', clock, takeOutputs: () => [] },
        built: () => ({ agent, mode: () => 'ask', extensions: noExtensions }),
        newKey: () => ids.execution(),
        ...{ print: () => {}, onChange: () => {}, onCallFinished: () => {}, onRunEnded: () => {} },
        putBack: (text) => putBack.push(text),
        onEvent: (event) => notice(event.type, 'command' in event && event.command['type'], 'view'),
      });
      onTestFinished(() => conversation.close());
      return { conversation, putBack, clock };
    },
  };
}
