import { expect, test } from 'vitest';
import type { NotificationsConfig } from '../contract/config.ts';
import { Notifier } from './notifier.ts';

/** Returns what a notifier sends for a sequence of activities. */
function sentFor(
  config: NotificationsConfig | undefined,
  activities: readonly ('idle' | 'running' | 'waiting')[],
  platform: NodeJS.Platform = 'linux',
): readonly string[] {
  const sent: string[] = [];
  const notifier = new Notifier(
    config,
    ({ ansi }) => sent.push(ansi),
    (text) => sent.push(`desktop: ${text}`),
    platform,
  );
  for (const activity of activities) notifier.update(activity);
  return sent;
}

const story = ['running', 'waiting', 'waiting', 'running', 'waiting', 'idle'] as const;

test('23: by default, the bell rings once for each wait', () => {
  expect(sentFor(undefined, story)).toEqual(['\u0007', '\u0007']);
});

test('23: a session that waits when it is opened causes no notification', () => {
  expect(sentFor(undefined, ['waiting', 'waiting'])).toEqual([]);
});

test('23: other ways can be chosen for each event', () => {
  const osc9 = '\u001b]9;millrace waits for your answer\u0007';
  expect(sentFor({ waiting: 'osc9', done: 'desktop' }, story)).toEqual([
    ...[osc9, osc9],
    'desktop: millrace is done',
  ]);
  expect(sentFor({ waiting: 'off' }, story)).toEqual([]);
});

test('23: on Windows, the bell replaces a notification of the desktop', () => {
  expect(sentFor({ waiting: 'off', done: 'desktop' }, story, 'win32')).toEqual(['\u0007']);
});
