import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly {
      readonly target: readonly string[];
      readonly failureSummary: string;
    }[];
  }[];
}

const colorRule = 'color-contrast';

/** Rules that axe runs only on request. */
const moreRules = { 'target-size': { enabled: true } };
const withoutColors = { rules: { ...moreRules, [colorRule]: { enabled: false } } };

/**
 * The page in light mode, in dark mode and on a phone. Dark mode changes only colors, so only
 * colors are checked there. On the phone, everything except colors is checked.
 */
const modes = [
  { colorScheme: 'light', width: 1280, height: 800, run: { rules: moreRules } },
  { colorScheme: 'dark', width: 1280, height: 800, run: { runOnly: [colorRule] } },
  { colorScheme: 'light', width: 390, height: 844, run: withoutColors },
] as const;

/** Resolves after the browser has painted the page. */
const nextFrame = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** Returns all violations that axe finds, of any severity, in all modes. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const faults: string[] = [];
  for (const { colorScheme, width, height, run } of modes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    await page.evaluate(nextFrame);
    const options = JSON.stringify({ resultTypes: ['violations'], preload: false, ...run });
    const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${options})`);
    for (const { id, help, nodes } of violations)
      for (const { target, failureSummary } of nodes)
        faults.push(
          `${colorScheme}, ${width} wide: ${id}: ${help}, at ${target}\n${failureSummary}`,
        );
  }
  const [{ width, height }] = modes;
  await page.setViewportSize({ width, height });
  return faults;
}
