import type { TaskHandle } from '@millrace/client';
import {
  type DraftRecord,
  itemId,
  partId,
  runId,
  sessionId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { HTMLElement } from 'happy-dom';
import { expect, test } from 'vitest';
import type { SessionLinkProps } from '../../context.ts';
import { type DomPage, openDomPage } from '../../testing/dom-page.ts';
import { GrowingSource } from '../../testing/growing-source.ts';
import { factDraft, numberDrafts } from '../../testing/records.ts';
import type { LiveSources } from '../state/live-source.ts';

const child = sessionId('child');
const live = { state: 'live' } as const;

/** A session with the methods that a lane uses of a live session. */
function liveSource(): GrowingSource & { readonly handle: TaskHandle } {
  const source = new GrowingSource();
  const handle = { snapshot: () => ({ connection: live }), reconnect: () => {} };
  return Object.assign(source, { handle: handle as unknown as TaskHandle });
}

/** Renders a lane of a root session. Returns the sources that the lane uses. */
async function renderLane(isRunning: boolean) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { MillraceContext } = await import('../../context.ts');
  const { SubAgentLane } = await import('./sub-agent-lane.tsx');
  const [root, inner] = [liveSource(), liveSource()];
  const requested: string[] = [];
  const sources = {
    get: () => root,
    subAgent: (task: string, id: string) => {
      requested.push(`${task}/${id}`);
      return inner;
    },
  };
  const node = (running: boolean) => (
    <MillraceContext value={{ sources: sources as unknown as LiveSources }}>
      <SubAgentLane source={root} session={child} isRunning={running} />
    </MillraceContext>
  );
  await page.render(node(isRunning));
  return { page, root, inner, requested, show: (running: boolean) => page.render(node(running)) };
}

const answer: readonly DraftRecord[] = [
  factDraft({ type: 'run_started', runId: runId('r') }),
  factDraft({ type: 'item_started', itemId: itemId('task'), kind: 'user' }),
  {
    ...{ turn: 0, attempt: 0 },
    delta: {
      ...{ type: 'commit_part', partId: partId(0, 0, 'p0'), itemId: itemId('task') },
      part: { kind: 'text', text: 'Look outside' },
    },
  },
  factDraft({ type: 'item_finished', itemId: itemId('task') }),
  factDraft({ type: 'item_started', itemId: itemId('answer'), kind: 'assistant' }),
  {
    ...{ turn: 0, attempt: 0 },
    delta: {
      ...{ type: 'commit_part', partId: partId(0, 0, 'p1'), itemId: itemId('answer') },
      part: { kind: 'text', text: 'It rains.' },
    },
  },
];

const head = (page: DomPage): HTMLElement => page.find('.lane-head');

test('a running sub-agent streams in its lane, which becomes one row at the end', async () => {
  const { page, inner, requested, show } = await renderLane(true);
  expect(new Set(requested)).toEqual(new Set(['s/child']));
  expect(head(page).getAttribute('aria-expanded')).toBe('true');
  await page.act(() => inner.add(numberDrafts(answer)));
  expect(page.text()).toContain('It rains.');
  // The tool call above the lane shows the task.
  expect(page.text()).not.toContain('Look outside');
  await show(false);
  expect(head(page).getAttribute('aria-expanded')).toBe('false');
  expect(page.text()).not.toContain('It rains.');
});

test('a finished sub-agent is loaded only when the user opens its lane', async () => {
  const { page, inner, requested } = await renderLane(false);
  expect(requested).toEqual([]);
  await page.click(head(page));
  expect(new Set(requested)).toEqual(new Set(['s/child']));
  await page.act(() => inner.add(numberDrafts(answer)));
  expect(page.text()).toContain('It rains.');
  await page.click(head(page));
  expect(page.text()).not.toContain('It rains.');
});

test('a lane that the user closed stays closed', async () => {
  const { page, show } = await renderLane(true);
  await page.click(head(page));
  await show(false);
  await show(true);
  expect(head(page).getAttribute('aria-expanded')).toBe('false');
});

test('the lane of the sub-agent that asks offers the answer, and no other lane does', async () => {
  const { page, root } = await renderLane(true);
  const asked = (session: string, id: string) =>
    factDraft({
      ...{ type: 'approval_asked', toolCallId: toolCallId(id), name: 'bash' },
      from: {
        ...{ toolCallId: toolCallId('t1'), agents: ['scout'], session: sessionId(session) },
        input: { command: 'ls' },
      },
    });
  const call = toolCallPart(toolCallId('t1'), 'task', { task: 'Look outside' });
  await page.act(() =>
    root.add(
      numberDrafts([
        factDraft({ type: 'run_started', runId: runId('r') }),
        factDraft({ type: 'item_started', itemId: itemId('i'), kind: 'assistant' }),
        {
          ...{ turn: 0, attempt: 0 },
          delta: {
            ...{ type: 'commit_part', partId: partId(0, 0, 'p'), itemId: itemId('i') },
            part: call,
          },
        },
        asked('other', 'other/c1'),
      ]),
    ),
  );
  expect(page.findAll('.lane-question')).toEqual([]);
  await page.act(() => root.add(numberDrafts([asked('child', 'child/c1')], 5)));
  expect(page.find('.lane-question').textContent).toContain('It asks about bash.');
});

test.for([
  [true, ['/chat/child']],
  [false, []],
] as const)(
  'without a server, a lane is the id of its session: as a link %s',
  async ([hasLinks, expected]) => {
    const page = await openDomPage('http://localhost/');
    const { MillraceContext } = await import('../../context.ts');
    const { SubAgentLane } = await import('./sub-agent-lane.tsx');
    const SessionLink = ({ id, view, children }: SessionLinkProps) => (
      <a href={`/${view}/${id}`}>{children}</a>
    );
    await page.render(
      <MillraceContext value={hasLinks ? { SessionLink } : {}}>
        <SubAgentLane source={new GrowingSource()} session="child" isRunning />
      </MillraceContext>,
    );
    expect(page.text()).toBe('Session of the sub-agent: child');
    expect(page.findAll('a').map((link) => link.getAttribute('href'))).toEqual(expected);
  },
);
