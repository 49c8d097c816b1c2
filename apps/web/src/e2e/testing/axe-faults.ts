import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly help: string;
    readonly nodes: readonly {
      readonly target: readonly string[];
      readonly failureSummary: string;
    }[];
  }[];
}

const colorRule = 'color-contrast';

const withoutColors = { rules: { [colorRule]: { enabled: false } } };

/**
 * The page in light mode, in dark mode and on a phone. Dark mode changes only the colors, so only
 * they are checked there. The phone changes the layout, so everything except the colors is checked.
 */
const modes = [
  { colorScheme: 'light', width: 1280, height: 800, run: {} },
  { colorScheme: 'dark', width: 1280, height: 800, run: { runOnly: [colorRule] } },
  { colorScheme: 'light', width: 390, height: 844, run: withoutColors },
] as const;

/** Resolves after the browser has painted the page. */
const nextFrame = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** Returns the serious and critical violations that axe finds, in all modes. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const faults: string[] = [];
  for (const { colorScheme, width, height, run } of modes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    await page.evaluate(nextFrame);
    const options = JSON.stringify({ resultTypes: ['violations'], preload: false, ...run });
    const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${options})`);
    const serious = violations.filter(
      ({ impact }) => impact === 'serious' || impact === 'critical',
    );
    for (const { id, help, nodes } of serious)
      for (const { target, failureSummary } of nodes)
        faults.push(
          `${colorScheme}, ${width} wide: ${id}: ${help}, at ${target}\n${failureSummary}`,
        );
  }
  const [{ width, height }] = modes;
  await page.setViewportSize({ width, height });
  return faults;
}
