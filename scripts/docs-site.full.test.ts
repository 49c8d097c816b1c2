import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { chromiumPath, describeInChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';
import { isRequirementMissing } from '../packages/log/src/testing/external-programs.ts';

const site = resolve('docs/site/dist');
const isInstalled = existsSync('docs/site/node_modules/typedoc');
const missing = 'The generator of the documentation is not installed. Run npm run test:setup';
const describeSite = isRequirementMissing(isInstalled, missing) ? describe.skip : describe;

describeSite('the documentation site', () => {
  let printed = '';
  beforeAll(() => {
    const { stdout, stderr } = spawnSync(process.execPath, ['docs/site/build.ts'], {
      encoding: 'utf8',
    });
    printed = stdout + stderr;
  });

  test('is built without warnings: no broken link, no undocumented or missing export', () => {
    expect(printed).toBe('');
  });

  test('contains every page of docs/ and every README of a package', () => {
    const pages = globSync('{docs/**/*.md,packages/*/README.md}', { exclude: ['docs/site/**'] });
    const titles = globSync(`${site}/**/*.html`).map((path) => titleOf(readFileSync(path, 'utf8')));
    const absent = pages.filter((path) => {
      const heading = /^# (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1]?.replaceAll('`', '') ?? '';
      return !titles.some((title) => title === heading || title.startsWith(`${heading} |`));
    });
    expect(absent).toEqual([]);
  });

  test('has only relative links, and all of them lead to a file and an anchor of the site', () => {
    const pages = new Map(
      globSync(`${site}/**/*.html`).map((path) => [path, readFileSync(path, 'utf8')] as const),
    );
    const ids = new Map(
      [...pages].map(([path, html]) => {
        const found = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => decoded(id));
        return [path, new Set(found)] as const;
      }),
    );
    const broken = [...pages].flatMap(([path, html]) =>
      [...html.matchAll(/ (?:href|src)="([^"]*)"/g)]
        .map(([, link = '']) => decoded(link))
        .filter((link) => !/^(?:https?:|mailto:|data:)/.test(link))
        .filter((link) => {
          const [file = '', anchor = ''] = link.split('#');
          const target = file === '' ? path : join(dirname(path), decodeURIComponent(file));
          if (link.startsWith('/') || !existsSync(target)) return true;
          const known = ids.get(target);
          return anchor !== '' && known !== undefined && !known.has(decodeURIComponent(anchor));
        })
        .map((link) => `${path.slice(site.length)}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test('20.F10: links to files of the repository as pages or files of the site', () => {
    const outside = globSync(`${site}/**/*.html`).flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/ href="([^"]*)"/g)]
        .map(([, link = '']) => decoded(link))
        .filter((link) => /^https:\/\/github\.com\/millrace\/millrace\/(?:blob|tree)\//.test(link))
        .map((link) => `${path.slice(site.length)}: ${link}`),
    );
    expect(outside).toEqual([]);
  });

  describeInChromium()('from the file system, without a network', () => {
    test('shows pages, finds texts and symbols, and has a light and a dark theme', async () => {
      const executablePath = chromiumPath() ?? 'chromium';
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      try {
        const page = await browser.newPage();
        const outside: string[] = [];
        const faults: string[] = [];
        page.on('request', (request) => {
          if (!/^(?:file|data|blob):/.test(request.url())) outside.push(request.url());
        });
        page.on('pageerror', (error) => faults.push(error.message));
        const home = pathToFileURL(join(site, 'index.html')).href;
        await page.goto(home);

        await page.click('nav >> text=Concepts');
        await page.waitForSelector('h1:has-text("Concepts")');
        await page.waitForFunction('[...document.images].every((image) => image.naturalWidth > 0)');

        const search = async (words: string) => {
          await page.goto(home);
          await page.click('#tsd-search-trigger');
          await page.fill('#tsd-search-input', words);
          await page.waitForSelector('#tsd-search-results li a');
          const found = await page.locator('#tsd-search-results li').allInnerTexts();
          return found.join('\n');
        };
        expect(await search('idempotency')).toContain('Survive crashes');
        expect(await search('createAgent')).toContain('createAgent');

        const background = () =>
          page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
        await page.goto(home);
        await page.click('text=Settings');
        await page.selectOption('#tsd-theme', 'light');
        const light = await background();
        await page.selectOption('#tsd-theme', 'dark');
        expect(await background()).not.toBe(light);
        expect({ outside, faults }).toEqual({ outside: [], faults: [] });
      } finally {
        await browser.close();
      }
    });
  });
});

const titleOf = (html: string) => decoded(/<title>([^<]*)<\/title>/.exec(html)?.[1] ?? '');

const decoded = (text: string) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
