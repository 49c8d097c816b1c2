import type { Page } from 'playwright-core';
import type { ExperimentServer } from '../../testing/experiment-server.ts';
import { ChatTab } from '../testing/chat-tab.ts';
import type { PageServer } from '../testing/page-server.ts';
import type { TalkServer } from '../testing/talk-server.ts';

/** The servers and sessions that the screens show. */
export interface Stage {
  readonly server: PageServer;
  /** A server that requires a token. */
  readonly locked: PageServer;
  /** A server whose agent calls sub-agents, asks the user with forms, and writes pictures. */
  readonly talk: TalkServer;
  /** A server with experiments. One of them is running. */
  readonly lab: ExperimentServer;
  /** The paths of the prepared sessions. */
  readonly paths: Readonly<Record<SessionName, string>>;
}

type SessionName = 'answer' | 'tools' | 'approval' | 'error';

/** A screen of the app, and the steps to open it in a new tab. */
export interface Screen {
  readonly name: string;
  readonly open: (page: Page, stage: Stage) => Promise<unknown>;
}

/** The screens of a server that has no sessions. */
export const emptyScreens: readonly Screen[] = [
  { name: 'empty-new', open: (page, { server }) => openNew(page, server) },
  {
    name: 'empty-overview',
    async open(page, { server }) {
      await page.goto(`${server.url}/app/overview`);
      await page.locator('.overview-empty').waitFor();
    },
  },
];

/** The screens of a server that has the prepared sessions. */
export const screens: readonly Screen[] = [
  { name: 'new', open: (page, { server }) => openNew(page, server) },
  { name: 'answer', open: (page, stage) => openSession(page, stage, 'answer') },
  {
    name: 'tools',
    async open(page, stage) {
      const tab = await openSession(page, stage, 'tools');
      await tab.unfold(/^run/);
      await tab.unfold(/^patch/);
    },
  },
  {
    name: 'approval',
    async open(page, stage) {
      await openSession(page, stage, 'approval');
      await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    },
  },
  { name: 'error', open: (page, stage) => openSession(page, stage, 'error') },
  {
    name: 'running',
    async open(page, { server }) {
      server.send('go');
      await openNew(page, server);
      const tab = new ChatTab(page);
      await tab.send('count');
      await page.locator('.activity-now').waitFor();
      await tab.answer.getByText('w60').waitFor();
    },
  },
  {
    name: 'inspector',
    async open(page, stage) {
      const tab = await openSession(page, stage, 'tools');
      await page.getByRole('button', { name: 'Inspector' }).click();
      await tab.waitForScrubber();
    },
  },
  {
    name: 'rewind',
    async open(page, stage) {
      const tab = await openSession(page, stage, 'tools');
      await page.getByRole('button', { name: 'Inspector' }).click();
      await tab.dragTo(0.5);
      await page.getByText('You are viewing an earlier moment.').waitFor();
    },
  },
  {
    name: 'overview',
    async open(page, { server }) {
      await page.goto(`${server.url}/app/overview`);
      await page.getByRole('heading', { name: 'Usage and cost' }).waitFor();
    },
  },
  {
    name: 'sidebar',
    async open(page, stage) {
      await openSession(page, stage, 'answer');
      const opener = page.locator('.sidebar-button button');
      if (await opener.isVisible()) await opener.click();
    },
  },
  {
    name: 'design',
    async open(page, { server }) {
      await page.goto(`${server.url}/app/design`);
      await page.getByRole('heading', { name: 'Dark' }).waitFor();
      // Parts of the gallery load on demand, and the gallery grows with them.
      await page.waitForLoadState('networkidle');
      // The gallery scrolls inside the page. A tall viewport shows all of it. In a tall viewport some
      // parts are taller, so the second round measures again.
      const { width } = page.viewportSize() ?? { width: 1280 };
      for (let round = 0; round < 2; round++) {
        const inside = await page.evaluate<number>(
          "document.querySelector('.gallery').scrollHeight",
        );
        await page.setViewportSize({ width, height: Math.min(inside + 64, 16_000) });
      }
    },
  },
  {
    name: 'help',
    async open(page, { server }) {
      await page.goto(`${server.url}/app/overview`);
      await page.getByRole('heading', { name: 'Usage and cost' }).waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    },
  },
  {
    name: 'token',
    async open(page, { locked }) {
      await page.goto(locked.url);
      await page.getByRole('dialog').waitFor();
    },
  },
];

/** The screens of conversations with sub-agents, forms and documents, of the search, and of the settings. */
export const talkScreens: readonly Screen[] = [
  {
    name: 'sub-agents',
    async open(page, { talk }) {
      talk.open();
      await openTalk(page, talk, 'delegate');
      await page.getByRole('button', { name: 'Answer here' }).waitFor();
    },
  },
  {
    name: 'form',
    async open(page, { talk }) {
      await openTalk(page, talk, 'question');
      await page.getByText('It stores the orders.').waitFor();
    },
  },
  {
    name: 'artifact',
    async open(page, { talk }) {
      await openTalk(page, talk, 'draw');
      await page.getByRole('button', { name: /artifact/ }).click();
      await page.locator('.artifact-panel').waitFor();
    },
  },
  {
    name: 'search',
    async open(page, { talk }) {
      const tab = await openTalk(page, talk, 'weather');
      await tab.waitForText('purple umbrellas');
      const opener = page.locator('.sidebar-button button');
      if (await opener.isVisible()) await opener.click();
      await page.getByRole('searchbox', { name: 'Find a session' }).fill('umbrellas');
      await page.locator('.content-hit').first().waitFor();
    },
  },
  {
    name: 'settings',
    async open(page, { server }) {
      await openSettings(page, server, 'Settings');
    },
  },
  {
    name: 'commands',
    async open(page, stage) {
      const tab = await openSession(page, stage, 'answer');
      await tab.message.fill('/');
      await page.getByRole('listbox', { name: 'Commands' }).waitFor();
    },
  },
  ...(['de', 'es', 'zh'] as const).map(
    (language): Screen => ({
      name: `language-${language}`,
      async open(page, stage) {
        await page.addInitScript(`localStorage.setItem('millrace:language', '${language}')`);
        const tab = await openSession(page, stage, 'approval');
        await tab.page.locator('.approval').first().waitFor();
      },
    }),
  ),
];

/** The screens of experiments: the list, a comparison of variants, and the votes about a case. */
export const experimentScreens: readonly Screen[] = [
  {
    name: 'experiments',
    async open(page, { lab }) {
      await page.goto(`${lab.url}/app/experiments`);
      await page.getByRole('region', { name: 'live' }).waitFor();
    },
  },
  {
    name: 'experiment',
    async open(page, { lab }) {
      await page.goto(`${lab.url}/app/experiments/refunds?variant=careful`);
      await page.locator('.case').first().waitFor();
    },
  },
  {
    name: 'experiment-case',
    async open(page, { lab }) {
      await page.goto(`${lab.url}/app/experiments/refunds?variant=brief&scorer=polite`);
      const first = page.locator('.case').first();
      await first.getByText('Runs and votes').click();
      await first.scrollIntoViewIfNeeded();
    },
  },
];

async function openTalk(page: Page, talk: TalkServer, message: string): Promise<ChatTab> {
  await page.goto(`${talk.url}/#token=${talk.token}`);
  const tab = new ChatTab(page);
  await tab.send(message);
  await tab.taskPath();
  return tab;
}

async function openSettings(page: Page, server: PageServer, name: string): Promise<void> {
  await openNew(page, server);
  const opener = page.locator('.sidebar-button button');
  if (await opener.isVisible()) await opener.click();
  await page.getByRole('button', { name }).click();
  await page.getByRole('dialog').waitFor();
}

/** The first message of each prepared session, and a text that the page shows at the end of it. */
const sessions: Readonly<Record<SessionName, readonly [message: string, shown: string]>> = {
  answer: ['tell me about Millrace', 'See the protocol'],
  tools: ['tools', 'Done: a duplicate record'],
  approval: ['ask me before you write', 'I would like to write a file.'],
  error: ['fail', 'This answer will fail'],
};

/** Creates the prepared sessions. Returns their paths. */
export async function prepareSessions(page: Page, server: PageServer): Promise<Stage['paths']> {
  const paths: Partial<Record<SessionName, string>> = {};
  for (const [name, [message, shown]] of Object.entries(sessions)) {
    await openNew(page, server);
    const tab = new ChatTab(page);
    await tab.send(message);
    paths[name as SessionName] = await tab.taskPath();
    await page.getByText(shown).first().waitFor();
    // A session that waits for an approval can be stopped, so its stop button stays.
    if (name !== 'approval') await tab.stop.waitFor({ state: 'detached' });
  }
  return paths as Stage['paths'];
}

async function openNew(page: Page, server: PageServer): Promise<void> {
  await page.goto(server.url);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
}

async function openSession(page: Page, stage: Stage, name: SessionName): Promise<ChatTab> {
  await page.goto(`${stage.server.url}${stage.paths[name]}`);
  await page.getByText(sessions[name][1]).first().waitFor();
  return new ChatTab(page);
}
