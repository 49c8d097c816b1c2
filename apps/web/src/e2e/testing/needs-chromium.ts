import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, firefox } from 'playwright-core';
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

function findProgram(candidates: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return candidates.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

/** Returns the path of Chromium. Returns undefined if it is not installed. */
export function chromiumPath(): string | undefined {
  return findProgram(names);
}

function firefoxPath(): string | undefined {
  return findProgram(['firefox-esr', 'firefox']);
}

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath() ?? 'chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** Starts Firefox without a window. The tests control it with WebDriver BiDi. */
export function launchFirefox(): Promise<Browser> {
  return firefox.launch({ channel: 'moz-firefox', executablePath: firefoxPath() ?? 'firefox' });
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
  return describeIf(chromiumPath() !== undefined, missingText);
}

/** Returns `describe` for tests in Firefox. Without Firefox, these tests are skipped with a message. */
export function describeInFirefox(): SuiteAPI {
  const missing = 'Firefox is not installed. Run npm run test:setup';
  return describeIf(firefoxPath() !== undefined, missing);
}

function describeIf(isInstalled: boolean, missing: string): SuiteAPI {
  return isRequirementMissing(isInstalled, missing) ? (describe.skip as SuiteAPI) : describe;
}
