import { expect, test } from 'vitest';
import { settled } from '../../../../../packages/client/src/testing/settled.ts';
import { openDomPage } from '../../../../../packages/react/src/testing/dom-page.ts';
import { type AttemptStatistics, chartsOf, type Measures, statisticsPath } from './chart-data.ts';

const nothing: Measures = {
  ...{ attempts: 0, errors: 0, duration_ms: null, first_token_ms: null },
  ...{ input_tokens: 0, output_tokens: 0, costs: [] },
};
const busy: Measures = {
  ...{ attempts: 4, errors: 1, input_tokens: 900, output_tokens: 100 },
  ...{ duration_ms: { p50: 800, p95: 3200 }, first_token_ms: { p50: 90, p95: 400 } },
  costs: [{ amount: '0.02', currency: 'USD' }],
};
const reply: AttemptStatistics = {
  ...{ bucket_ms: 3_600_000, is_whole: true, sessions: 2 },
  buckets: [
    { started_at: 0, ...nothing },
    { started_at: 3_600_000, ...busy },
  ],
  groups: [{ agent_name: 'weather', agent_version: '2.1', provider: 'p', model: 'm-1', ...busy }],
  names: [
    { agent_name: 'weather', agent_version: '2.1', provider: 'p', model: 'm-1' },
    { agent_name: 'orders', agent_version: null, provider: 'p', model: 'm-2' },
  ],
};

test('the request names the range and the filters', () => {
  const day = 24 * 3_600_000;
  expect(statisticsPath({}, day)).toBe(`/statistics/attempts?from=0&to=${day}`);
  expect(statisticsPath({ range: 'unknown' }, day)).toBe(`/statistics/attempts?from=0&to=${day}`);
  expect(statisticsPath({ range: '1h', agent: 'a b', version: '2', model: 'm/1' }, day)).toBe(
    `/statistics/attempts?from=${day - 3_600_000}&to=${day}&agent_name=a+b&agent_version=2&model=m%2F1`,
  );
});

test('a bucket without requests has no latency, and a cost needs a currency', () => {
  const [total, , , , cost] = chartsOf(reply);
  expect(total?.series[0]?.values).toEqual([null, 3200]);
  expect(cost).toMatchObject({ title: 'Cost in USD', series: [{ values: [0, 0.02] }] });
  expect(chartsOf({ buckets: [{ started_at: 0, ...nothing }] })).toHaveLength(4);
});

test('the charts have tables with the same values, and the filters are links', async () => {
  const page = await openDomPage('http://localhost/app/overview');
  const { Statistics } = await import('./statistics.tsx');
  const paths: string[] = [];
  const get = async (path: string) => {
    paths.push(path);
    return reply as never;
  };
  await page.render(<Statistics api={{ get }} filter={{ range: '7d', agent: 'weather' }} />);
  await page.act(settled);
  expect(paths[0]).toContain('agent_name=weather');
  const charts = page.findAll('figure');
  expect(charts).toHaveLength(5);
  expect(charts[0]?.querySelector('svg')?.getAttribute('aria-label')).toContain('at most 3.2 s');
  const cells = [...(charts[0]?.querySelectorAll('td') ?? [])].map((cell) => cell.textContent);
  expect(cells).toEqual(['3.2 s', '800 ms']);
  const links = page.findAll('nav a').map((link) => link.getAttribute('href'));
  expect(links).toContain('/app/overview?range=30d&agent=weather');
  expect(links).toContain('/app/overview?range=7d');
  expect(links).toContain('/app/overview?range=7d&agent=weather&model=m-2');
  expect(links).toContain('/app/overview?range=7d&agent=weather&version=2.1');
  const current = page.findAll('[aria-current]').map((link) => link.textContent);
  expect(current).toEqual(['Last 7 days', 'weather', 'All versions', 'All models']);
  expect(page.find('[aria-label="Requests by agent and model"]').textContent).toContain(
    'weather2.1m-14190 ms / 400 ms800 ms / 3.2 s',
  );
});
