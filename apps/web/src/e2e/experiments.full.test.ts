import { expect, test } from 'vitest';
import { ExperimentServer } from '../testing/experiment-server.ts';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('experiments', () => {
  const harness = useBrowserHarnessFor(() => ExperimentServer.start(26));

  test('25.4: experiments are listed, compared case by case, and followed while they run', async () => {
    const visitor = await harness.visitor();
    const { page } = await visitor.tab('/app/overview');
    await page.getByRole('link', { name: 'Experiments' }).click();
    await page.waitForURL('**/app/experiments');
    await page.getByRole('region', { name: 'live' }).getByText('Running').waitFor();
    await page.getByRole('region', { name: 'refunds-2' }).getByText('Complete').waitFor();
    expect(await axeFaults(page)).toEqual([]);

    // The variants side by side, and the worst cases first.
    await page.getByRole('link', { name: 'refunds', exact: true }).press('Enter');
    await page.waitForURL('**/app/experiments/refunds');
    const careful = page.locator('.variant', { hasText: 'careful' });
    await careful.getByText('92%').waitFor();
    const cases = page.getByRole('list', { name: 'Cases' }).locator('> li');
    await expect.poll(() => cases.count()).toBe(25);
    await page.getByRole('link', { name: 'Next' }).click();
    await expect.poll(() => cases.count()).toBe(1);
    await page.getByRole('link', { name: /^Worse/ }).click();
    await cases.first().getByText('Worse').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await page.setViewportSize({ width: 1280, height: 800 });

    // Another variant, another scorer and another experiment are in the address.
    await page.getByLabel('Variant').last().selectOption('careful');
    await page.waitForURL('**variant=careful**');
    await page.getByRole('link', { name: 'polite' }).click();
    await page.waitForURL('**scorer=polite**');
    await page.getByLabel('Experiment').selectOption('refunds-2');
    await page.waitForURL('**other_experiment=refunds-2**');
    await page.getByRole('link', { name: /^Better/ }).click();
    await cases.first().getByText('Better').waitFor();

    // A case leads to the votes of the judge, to its session, and to the diff of the sessions.
    await cases.first().getByText('Runs and votes').click();
    const votes = cases.first().getByRole('link', { name: /^Vote 1/ });
    await votes.first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    const address = page.url();
    await votes.last().click();
    await page.getByText('The answer is polite.').first().waitFor();
    await page.goto(address);
    await cases
      .first()
      .getByRole('link', { name: /^Diff of/ })
      .first()
      .click();
    const first = page.getByRole('region', { name: 'First difference' });
    await first.waitFor();
    await first.locator('ins', { hasText: 'refund' }).first().waitFor();

    // A running experiment grows without a reload.
    const running = await visitor.tab('/app/experiments/live');
    await running.page.getByText('Running').waitFor();
    await harness.server.finish();
    await running.page.getByText('24 of 24 runs').waitFor();
    await running.page.getByText('Complete').waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});
