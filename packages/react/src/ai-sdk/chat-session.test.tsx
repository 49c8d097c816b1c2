import type { UseChatHelpers } from '@ai-sdk/react';
import { itemId } from '@millrace/core';
import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { english } from '../labels/en.ts';
import type { Session } from '../session/session.ts';
import { openDomPage } from '../testing/dom-page.ts';
import type { ChatHelpers, ChatMessage, ChatPart } from './chat-helpers.ts';

const part = (fields: ChatPart & Record<string, unknown>): ChatPart => fields;
const text = (words: string, state = 'done') => part({ type: 'text', text: words, state });
const tool = (state: string, more: object = {}) =>
  part({
    ...{ type: 'tool-refund', toolCallId: 'c1', state, input: { order: 4411 } },
    ...more,
  });
const user: ChatMessage = { id: 'u1', role: 'user', parts: [text('Refund order 4411')] };
const answer = (...parts: readonly ChatPart[]): ChatMessage => ({
  id: 'a1',
  role: 'assistant',
  parts,
});

/** A chat whose state a test sets, as `useChat` would. It records the calls of its functions. */
async function renderChat(first: Partial<ChatHelpers>) {
  const page = await openDomPage('http://localhost/');
  Object.assign(globalThis, { ResizeObserver: page.window.ResizeObserver });
  const { useChatSession } = await import('./chat-session.ts');
  const { ItemView } = await import('../chat/transcript/item-view.tsx');
  const calls: unknown[][] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) =>
      void calls.push([name, ...args]);
  const shown: { session?: Session } = {};
  function Shown({ chat }: { readonly chat: ChatHelpers }) {
    const session = useChatSession(chat);
    shown.session = session;
    return [itemId('u1'), itemId('a1')].map((id) => (
      <ItemView key={id} source={session.source} id={id} />
    ));
  }
  const set = (state: Partial<ChatHelpers>) =>
    page.render(
      <Shown
        chat={{
          ...{ id: 'chat', messages: [user], status: 'ready' },
          ...{ sendMessage: note('send'), stop: note('stop'), regenerate: note('regenerate') },
          addToolApprovalResponse: note('answer'),
          ...state,
        }}
      />,
    );
  await set(first);
  const session = () => shown.session ?? expect.fail();
  return { page, set, session, calls };
}

test('a part that did not change stays the same object, although the AI SDK copies it', async () => {
  const parts = (words: string) => [
    part({ type: 'reasoning', text: 'The order shipped late.', state: 'done' }),
    tool('output-available', { output: { amount: 31.5 } }),
    text(words, 'streaming'),
  ];
  const state = (words: string) => ({
    messages: structuredClone([user, answer(...parts(words))]) as ChatMessage[],
    status: 'streaming' as const,
  });
  const { set, session, page } = await renderChat(state('The or'));
  const seen = () => {
    const { source } = session();
    const item = source.item(itemId('a1')) ?? expect.fail();
    return { partIds: item.partIds, parts: item.parts, user: source.item(itemId('u1')) };
  };
  const before = seen();
  await set(state('The order is'));
  const after = seen();
  expect(after.parts[0]).toBe(before.parts[0]);
  expect(after.parts[1]).toBe(before.parts[1]);
  expect(after.parts[2]).not.toBe(before.parts[2]);
  expect(after.partIds).toBe(before.partIds);
  expect(after.user).toBe(before.user);
  expect(page.text()).toContain('The order is');
  expect(page.find('fieldset').getAttribute('aria-label')).toBe('Tool refund: done');
});

test('a question is answered with the id that the AI SDK gave it', async () => {
  const asks = tool('approval-requested', { approval: { id: 'q1' } });
  const { session, calls, set, page } = await renderChat({ messages: [user, answer(asks)] });
  const { source, commands } = session();
  expect(source.state.asked.map(({ name, toolCallId }) => [name, toolCallId])).toEqual([
    ['refund', 'c1'],
  ]);
  await commands?.approve('c1');
  await commands?.deny('c1', { reason: 'Too much' });
  expect(calls).toEqual([
    ['answer', { id: 'q1', approved: true }],
    ['answer', { id: 'q1', approved: false, reason: 'Too much' }],
  ]);
  const denied = tool('output-denied', {
    approval: { id: 'q1', approved: false, reason: 'Too much' },
  });
  await set({ messages: [user, answer(denied)] });
  expect(session().source.state.asked).toEqual([]);
  expect(page.find('fieldset').getAttribute('aria-label')).toBe('Tool refund: not run');
  await expect(session().commands?.approve('c1')).rejects.toThrow(/no longer waits/);
});

test('the result of useChat fits, which the compiler checks', () => {
  const fits = (chat: UseChatHelpers<UIMessage>): ChatHelpers => chat;
  expect(fits).toBeTypeOf('function');
});

test('a failure is a notice, and can be retried', async () => {
  const { session, calls } = await renderChat({ status: 'error', error: new Error('No network') });
  const { facts } = session().source;
  expect(facts.notices.map(({ look, text: words }) => [look, words(english)])).toEqual([
    ['bad', 'No network'],
  ]);
  await session().commands?.retry?.();
  expect(calls).toEqual([['regenerate']]);
});

test('messages with unusual ids, parts and calls are shown', async () => {
  const odd: ChatMessage = {
    ...{ id: '\u0000', role: 'assistant' },
    parts: [
      part({ type: 'step-start' }),
      part({ type: 'dynamic-tool', toolCallId: '', toolName: 'find', state: 'input-streaming' }),
      part({ type: 'data-order', data: { order: 4411 } }),
      part({
        type: 'file',
        mediaType: 'text/plain',
        filename: 'a.txt',
        url: 'data:text/plain;base64,%%',
      }),
      part({ type: 'later-type' }),
      text('Done.'),
      part({ type: 'source-url', url: 'https://orders.example/4411', title: 'Order 4411' }),
    ],
  };
  const { session } = await renderChat({ messages: [odd], status: 'streaming' });
  const { source } = session();
  const parts = source.item(source.itemIds[0] ?? itemId('none'))?.parts ?? [];
  expect(parts.map(({ kind }) => kind)).toEqual(['tool_call', 'structured', 'file', 'text']);
  expect(parts.at(-1)?.metadata).toEqual({
    citations: [{ title: 'Order 4411', url: 'https://orders.example/4411' }],
  });
});

test('a message with a file is sent with the content of the file', async () => {
  const { session, calls, page } = await renderChat({});
  Object.assign(globalThis, { FileReader: page.window.FileReader });
  const file = new page.window.File(['rain'], 'weather.txt', { type: 'text/plain' });
  await session().commands?.send({ text: 'Read this', files: [file as unknown as File] });
  const url = `data:text/plain;base64,${btoa('rain')}`;
  expect(calls).toEqual([
    [
      'send',
      {
        text: 'Read this',
        files: [{ type: 'file', filename: 'weather.txt', url, mediaType: 'text/plain' }],
      },
    ],
  ]);
});
