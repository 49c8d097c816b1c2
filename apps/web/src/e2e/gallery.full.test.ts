import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('the gallery', () => {
  const harness = useBrowserHarness();

  test('shows all components in both themes, and axe finds no violation', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab('/app/design');
    const { page } = tab;
    const backgroundOf = (theme: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('[data-scheme=${theme}]')).backgroundColor`,
      );
    await page.getByRole('heading', { name: 'Dark' }).waitFor();
    expect(await backgroundOf('light')).not.toBe(await backgroundOf('dark'));
    for (const name of ['A finished answer', 'A question: the gate is closed', 'A failed run'])
      expect(await page.getByRole('heading', { name }).count(), name).toBe(2);
    expect(await page.getByRole('heading', { name: /^Allow / }).count()).toBe(2);
    expect(await axeFaults(page)).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('is not part of the first load', async () => {
    const page = await (await harness.visitor()).context.newPage();
    const files: string[] = [];
    page.on('request', (request) => files.push(new URL(request.url()).pathname));
    await page.goto('/');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    expect(files.filter((path) => path.startsWith('/assets/'))).not.toEqual([]);
    expect(files.filter((path) => /gallery|inspector|overview|highlight|math/.test(path))).toEqual(
      [],
    );
  });
});
