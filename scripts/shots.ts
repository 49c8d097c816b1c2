// Takes screenshots of every screen of the web page, in both themes and in two sizes:
//   npm run shots -- [folder] [name of a screen …]
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import {
  emptyScreens,
  experimentScreens,
  prepareSessions,
  type Screen,
  type Stage,
  screens,
  talkScreens,
} from '../apps/web/src/e2e/shots/screens.ts';
import { launchChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';
import { PageServer } from '../apps/web/src/e2e/testing/page-server.ts';
import { TalkServer } from '../apps/web/src/e2e/testing/talk-server.ts';
import { ExperimentServer } from '../apps/web/src/testing/experiment-server.ts';

const [given, ...names] = process.argv.slice(2);
const folder =
  given === undefined ? mkdtempSync(join(tmpdir(), 'millrace-shots-')) : resolve(given);
mkdirSync(folder, { recursive: true });

const themes = ['light', 'dark'] as const;
const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const;

const isWanted = ({ name }: Screen) => names.length === 0 || names.includes(name);

async function takeShots(browser: Browser, listed: readonly Screen[], stage: Stage): Promise<void> {
  for (const colorScheme of themes)
    for (const viewport of sizes)
      for (const screen of listed.filter(isWanted)) {
        const file = join(folder, `${screen.name}-${colorScheme}-${viewport.width}.png`);
        const context = await browser.newContext({
          ...{ colorScheme, viewport, reducedMotion: 'reduce' },
        });
        const page = await context.newPage();
        await screen.open(page, stage);
        await page.evaluate('document.fonts.ready');
        await page.screenshot({ path: file });
        await context.close();
        stage.server.send('enough');
      }
}

const [server, talk, lab, locked] = await Promise.all([
  PageServer.start(),
  TalkServer.start(),
  ExperimentServer.start(30),
  PageServer.start(randomBytes(32).toString('hex')),
]);
const browser = await launchChromium();
try {
  const paths = { answer: '', tools: '', approval: '', error: '' };
  await takeShots(browser, emptyScreens, { server, locked, talk, lab, paths });
  const page = await browser.newPage();
  const prepared = await prepareSessions(page, server);
  const stage = { server, locked, talk, lab, paths: prepared };
  await takeShots(browser, [...screens, ...talkScreens, ...experimentScreens], stage);
} finally {
  await browser.close();
  await Promise.all([server.close(), talk.close(), lab.close(), locked.close()]);
}
process.stdout.write(`${folder}\n`);
