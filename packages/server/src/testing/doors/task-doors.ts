import { stream } from '@durable-streams/client';
import {
  type AgentEvent,
  decodeBatch,
  decodeEvent,
  decodeRecord,
  emptyState,
  Folder,
  type Item,
  sessionId,
  transcript,
} from '@millrace/core';
import { expect } from 'vitest';
import { rebuild } from '../../../../core/src/testing/rebuild.ts';
import { type SseMessage, SseReader } from '../sse-reader.ts';
import { type Door, type DoorAddress, linesOf } from './door.ts';

// Doors that show the log of a task: its records, its events, and its records as a durable stream. They resume
// with an offset.

/** Starts a run, and returns the id of its task at once. */
async function startTask({ direct }: DoorAddress): Promise<string> {
  const response = await fetch(`${await direct()}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'helper', input: 'Time?', background: true }),
  });
  const { conversation } = (await response.json()) as { readonly conversation: { id: string } };
  return conversation.id;
}

interface Screen {
  /** Returns true if the message is the last one of the run. */
  readonly add: (message: SseMessage) => boolean;
  readonly items: () => readonly Item[];
}

function recordScreen(session: string): Screen {
  const folder = new Folder(emptyState(sessionId(session)));
  return {
    add: ({ event, data }) => {
      if (event !== 'message') return false;
      const batch = decodeBatch(data);
      expect(folder.addBatch(batch).outcome).not.toBe('gap');
      return batch.records.some(({ fact }) => fact?.type === 'run_finished');
    },
    items: () => transcript(folder.state),
  };
}

function eventScreen(): Screen {
  const events: AgentEvent[] = [];
  return {
    add: ({ event, data }) => {
      if (event !== 'message') return false;
      events.push(decodeEvent(data));
      return events.at(-1)?.type === 'run_finished';
    },
    items: () => rebuild(events) as readonly Item[],
  };
}

function streamDoor(view: 'records' | 'events', screenOf: (session: string) => Screen): Door {
  return async (at) => {
    const session = await startTask(at);
    const screen = screenOf(session);
    const path = `/tasks/${session}/stream?view=${view}&from=0`;
    const port = Number(new URL(at.cut).port);
    let lastEventId: string | undefined;
    for (let isOver = false; !isOver; ) {
      const reader: SseReader = new SseReader({
        ...{ port, path, lastEventId },
        onMessage: (message) => {
          isOver ||= screen.add(message);
          if (isOver) reader.disconnect();
        },
      });
      await reader.waitForEnd();
      lastEventId = reader.parser.lastId ?? lastEventId;
    }
    return { session, lines: linesOf(screen.items()) };
  };
}

/** The client of Durable Streams resumes by itself. */
const durableDoor: Door = async (at) => {
  const session = await startTask(at);
  const folder = new Folder(emptyState(sessionId(session)));
  const over = Promise.withResolvers<void>();
  const backoffOptions = { initialDelay: 1, maxDelay: 1, multiplier: 1 };
  for (let [offset, isOver] = ['-1', false]; !isOver; ) {
    try {
      const read = await stream<object>({
        ...{ url: `${at.cut}/streams/tasks/${session}`, offset, live: 'sse', backoffOptions },
        ...{ json: true, headers: { connection: 'close' } },
      });
      read.subscribeJson(({ items, offset: next }) => {
        offset = next;
        for (const item of items) {
          const record = decodeRecord(JSON.stringify(item));
          expect(folder.add(record).outcome).not.toBe('gap');
          if (record.fact?.type !== 'run_finished') continue;
          isOver = true;
          read.cancel();
          over.resolve();
        }
        return Promise.resolve();
      });
      await Promise.race([over.promise, read.closed]);
    } catch (error) {
      // The client gives up if a connection ends within an event. It continues at its last offset.
      if (isOver) throw error;
    }
  }
  return { session, lines: linesOf(transcript(folder.state)) };
};

/** The doors to the log of a task, by name. */
export const taskDoors: Readonly<Record<string, Door>> = {
  'the records of a task': streamDoor('records', recordScreen),
  'the events of a task': streamDoor('events', eventScreen),
  'a durable stream': durableDoor,
};
