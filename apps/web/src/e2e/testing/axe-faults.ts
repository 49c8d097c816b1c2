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

const colours = 'color-contrast';

const withoutColours = { rules: { [colours]: { enabled: false } } };

/** The page in light, in dark and on a phone. In the dark only the colours are new, on a phone all else is. */
const looks = [
  { colorScheme: 'light', width: 1280, height: 800, run: {} },
  { colorScheme: 'dark', width: 1280, height: 800, run: { runOnly: [colours] } },
  { colorScheme: 'light', width: 390, height: 844, run: withoutColours },
] as const;

/** The page is drawn as it is then. */
const drawn = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** What axe calls serious or critical on the page as it is, however one looks at it. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const faults: string[] = [];
  for (const { colorScheme, width, height, run } of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    await page.evaluate(drawn);
    const how = JSON.stringify({ resultTypes: ['violations'], preload: false, ...run });
    const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${how})`);
    const found = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    for (const { id, help, nodes } of found)
      for (const { target, failureSummary } of nodes)
        faults.push(
          `${colorScheme}, ${width} wide: ${id}: ${help}, at ${target}\n${failureSummary}`,
        );
  }
  const [{ width, height }] = looks;
  await page.setViewportSize({ width, height });
  return faults;
}
