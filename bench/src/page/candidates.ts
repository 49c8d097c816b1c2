import type { Page } from 'playwright-core';
import type { BuiltPages } from './built-pages.ts';
import { serveChunks } from './chunk-server.ts';
import { servePage } from './page-server.ts';

interface ServeOptions {
  /** The number of deltas in an answer. */
  readonly deltas: number;
  /** Called for each word of an answer. */
  readonly onWord: (count: number) => void;
}

/** A page of a candidate, on a running server. */
interface ServedCandidate extends AsyncDisposable {
  readonly url: string;
  /** Returns the address of a session with this number of items. */
  session(count: number): Promise<string>;
  /** Returns the address at which the page can show an answer, and a function that starts the answer. */
  answer(): Promise<{ readonly url: string; readonly start: (page: Page) => Promise<void> }>;
}

/** A chat page in the comparison. */
export interface Candidate {
  readonly name: string;
  serve(options: ServeOptions): Promise<ServedCandidate>;
}

/**
 * The throttle of `useChat`, in ms. The AI SDK's guide recommends this value for slow rendering. The
 * pages of other libraries receive it in their URL.
 */
const throttleMs = 50;

/** Returns the pages in their usual settings, for the comparison of loading and opening. */
export function pageCandidates({ ours, useChat, assistantUi }: BuiltPages): readonly Candidate[] {
  return [ourPage(ours), onChunks('useChat', useChat), onChunks('assistant-ui', assistantUi)];
}

/** Returns the pages and settings for the comparison of answers. The first candidate is ours. */
export function answerCandidates(pages: BuiltPages): readonly Candidate[] {
  const { ours, useChat, assistantUi, bare } = pages;
  const throttle = { throttle: `${throttleMs}` };
  return [
    ourPage(ours),
    onOurStream('bare page, same stream', bare),
    onOurStream('useChat, same stream', useChat),
    onOurStream(`useChat, same stream, throttle ${throttleMs}`, useChat, throttle),
    onOurStream('assistant-ui, same stream', assistantUi),
    onChunks('useChat, one chunk per delta', useChat),
    onChunks('assistant-ui, one chunk per delta', assistantUi),
  ];
}

/** Millrace's page on a Millrace server. */
function ourPage(page: string): Candidate {
  return {
    name: 'ours, with Markdown',
    async serve({ deltas, onWord }) {
      const server = await servePage(page, deltas, onWord);
      const at = (task: string) => `${server.url}/app/tasks/${task}`;
      return {
        url: server.url,
        session: async (count) => at(await server.longSession(count)),
        async answer() {
          const task = await server.newSession();
          return { url: at(task), start: () => server.start(task) };
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

type Settings = Readonly<Record<string, string>>;

/**
 * A page on the chat route of a Millrace server. The server merges the deltas of 20 ms, as for
 * Millrace's page.
 */
function onOurStream(name: string, page: string, settings: Settings = {}): Candidate {
  return {
    name,
    async serve({ deltas, onWord }) {
      const server = await servePage(page, deltas, onWord);
      return {
        url: server.url,
        session: () => Promise.reject(new Error('Only answers are measured with this stream')),
        async answer() {
          const query = { ...settings, api: '/agents/name/speaker/chat' };
          return { url: `${server.url}/?${new URLSearchParams(query)}`, start: sendGo };
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

/** A page on a server that sends one chunk per delta, as the servers of the AI SDK do. */
function onChunks(name: string, page: string, settings: Settings = {}): Candidate {
  return {
    name,
    async serve({ deltas, onWord }) {
      const server = await serveChunks(page, deltas, onWord);
      const at = (query: Settings) => `${server.url}/?${new URLSearchParams(query)}`;
      return {
        url: server.url,
        session: async (count) => at({ ...settings, messages: `/api/messages/${count}` }),
        answer: async () => ({ url: at({ ...settings, api: '/api/chat' }), start: sendGo }),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

async function sendGo(page: Page): Promise<void> {
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Go');
  await message.press('Enter');
}
