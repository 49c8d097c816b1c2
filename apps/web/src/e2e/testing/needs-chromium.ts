import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { describe, type SuiteAPI } from 'vitest';
import { isRequirementMissing } from '../../../../../packages/log/src/testing/external-programs.ts';

/**
 * The programs, best first. The headless shell uses the same engine as Chromium, but has no
 * windows. It needs only a quarter of the CPU time, both to start and to open a browser context.
 */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];
const missingText =
  'Chromium is not installed. These tests need a real browser. Run npm run test:setup';

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the path of Chromium. Returns undefined if it is not installed. */
export function chromiumPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath() ?? 'chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/**
 * Some test runners load a module again for each file. The global object is always the same, so it
 * holds the browser.
 */
const shared = globalThis as { millraceChromium?: Promise<Browser> };

/**
 * Returns the Chromium of this test process. All test files of the process share it, because each
 * start costs seconds of CPU time. Playwright closes it when the process ends.
 */
export async function sharedChromium(): Promise<Browser> {
  const running = await shared.millraceChromium?.catch(() => undefined);
  if (running?.isConnected()) return running;
  shared.millraceChromium = launchChromium();
  return shared.millraceChromium;
}

/**
 * Returns `describe` for tests in a real browser. Without Chromium, these tests are skipped with a
 * message.
 */
export function describeInChromium(): SuiteAPI {
  const isInstalled = chromiumPath() !== undefined;
  return isRequirementMissing(isInstalled, missingText) ? (describe.skip as SuiteAPI) : describe;
}
