import type { TaskHandle } from '@millrace/client';
import {
  type AskedApproval,
  emptyState,
  type JsonValue,
  sessionId,
  type ToolCallPart,
  toolCallId,
} from '@millrace/core';
import type { Element, HTMLButtonElement } from 'happy-dom';
import { vi } from 'vitest';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { type DomPage, openDomPage } from './dom-page.ts';
import { armingMs, TestScreen } from './test-screen.ts';

/** A call that waits for an approval. */
export interface WaitingCall {
  readonly id: string;
  /** The name of the tool. Default: `bash`. */
  readonly name?: string;
  /**
   * The input of the call. Default: a short command. If the property is `undefined`, the log does
   * not contain the call.
   */
  readonly input?: JsonValue | undefined;
  /** The arguments as the model wrote them. Default: the input as JSON. */
  readonly text?: string;
  /** The rule of an answer for the session. Default: `bash(*)`. */
  readonly rule?: string;
}

/** A chat source that contains only approval requests. */
class AskingSource {
  #calls: readonly WaitingCall[];
  #state: unknown;
  readonly #listeners = new Set<() => void>();

  constructor(calls: readonly WaitingCall[]) {
    this.#calls = calls;
    this.#state = stateOf(calls);
  }

  get state() {
    return this.#state;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  subscribePart = this.subscribe;
  readonly #parts = new Map<WaitingCall, ToolCallPart | undefined>();

  part = (id: string) => {
    const call = this.#calls.find((one) => one.id === id);
    if (call === undefined) return undefined;
    if (!this.#parts.has(call)) this.#parts.set(call, partOf(call));
    return this.#parts.get(call);
  };

  /** Replaces the waiting calls, as new records of the log would. */
  update(change: (calls: readonly WaitingCall[]) => readonly WaitingCall[]): void {
    this.#calls = change(this.#calls);
    this.#state = stateOf(this.#calls);
    for (const listener of this.#listeners) listener();
  }
}

function stateOf(calls: readonly WaitingCall[]) {
  const asked = calls.map(
    ({ id, name = 'bash', rule = 'bash(*)' }): AskedApproval => ({
      ...{ turn: 1, attempt: 1, toolCallId: toolCallId(id), name, reason: undefined, rule },
      from: undefined,
    }),
  );
  const parts = calls.flatMap((call) => {
    const part = partOf(call);
    return part === undefined ? [] : [{ id: call.id, part }];
  });
  return {
    ...emptyState(sessionId('s')),
    asked,
    items: { before: undefined, chunk: [{ turn: 1, attempt: 1, parts }] },
  };
}

function partOf(call: WaitingCall): ToolCallPart | undefined {
  const { id, name = 'bash', text } = call;
  const input = 'input' in call ? call.input : { command: `echo ${id}` };
  if (input === undefined && text === undefined) return undefined;
  return {
    ...{ kind: 'tool_call', toolCallId: toolCallId(id), name },
    arguments: text ?? JSON.stringify(input),
    ...(input !== undefined && { input }),
  };
}

type Answers = (readonly [string, string, unknown])[];

interface ApprovalPageOptions {
  /** True if the end of the content is visible without scrolling. Default: true. */
  readonly fits?: boolean;
}

/** Renders the approval requests of some calls, and the message field. */
export async function openApprovalPage(
  calls: readonly WaitingCall[],
  { fits = true }: ApprovalPageOptions = {},
) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const page: DomPage = await openDomPage('http://page.test/');
  const { window } = page;
  const screen = new TestScreen(window, fits);
  const { ApprovalDock } = await import('../chat/approval/approval-dock.tsx');
  const source = new AskingSource(calls);
  const answers: Answers = [];
  const answer = (word: string) => async (id: string, options?: unknown) => {
    answers.push([word, id, options]);
    source.update((all) => all.filter((one) => one.id !== id));
    return {};
  };
  const handle = { approve: answer('allow'), deny: answer('deny') } as unknown as TaskHandle;
  await page.render(
    <>
      <form className="composer">
        <textarea />
      </form>
      <ApprovalDock source={source as unknown as ChatSource} handle={handle} />
    </>,
  );
  const { document } = window;
  const button = (name: string): HTMLButtonElement => {
    const all = [...document.querySelectorAll('button')];
    const match = all.find(({ textContent }) => textContent === name);
    if (match === undefined) throw new Error(`There is no button ${name}`);
    return match;
  };
  const dispatch = (target: Element, type: string) =>
    target.dispatchEvent(new window.Event(type, { bubbles: true, cancelable: true }));
  return {
    ...{ page, answers, button, dispatch },
    /** The text of the card. */
    text: () => page.find('.approval').textContent ?? '',
    focused: () => document.activeElement,
    /** Makes the end of the content visible or invisible. */
    scroll: (isEndInSight: boolean) => page.act(() => screen.moveEnd(isEndInSight)),
    /** Moves the cards and their buttons. A negative position is outside of the screen. */
    moveCards: (top: number, reportsAtOnce = true) =>
      page.act(() => screen.moveCards(top, reportsAtOnce)),
    cover: (isCovered: boolean) => screen.cover(isCovered),
    update: (change: Parameters<AskingSource['update']>[0]) =>
      page.act(() => source.update(change)),
    /** Presses a button as a mouse does. */
    press: (name: string) =>
      page.act(() => {
        const target = button(name);
        target.focus();
        dispatch(target, 'pointerdown');
        dispatch(target, 'pointerup');
        if (!target.disabled) target.click();
      }),
    key: (init: object, selector = '.approval') =>
      page.act(() => {
        const down = { bubbles: true, cancelable: true, ...init };
        page.find(selector).dispatchEvent(new window.KeyboardEvent('keydown', down));
      }),
    type: (selector: string, text: string) =>
      page.act(() => {
        const field = page.find(selector);
        const { prototype } = window.HTMLTextAreaElement;
        Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, text);
        dispatch(field, 'input');
      }),
    wait: (ms = armingMs) => page.act(() => void vi.advanceTimersByTime(ms)),
    [Symbol.asyncDispose]: async () => void vi.useRealTimers(),
  };
}

/** The key that allows a call. */
export const altY = { key: 'y', code: 'KeyY', altKey: true };
