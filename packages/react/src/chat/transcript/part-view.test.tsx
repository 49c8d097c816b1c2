import type { JsonValue } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

async function renderedText(value: JsonValue): Promise<string> {
  const page = await openDomPage('http://page.test/');
  const { StructuredView } = await import('./part-view.tsx');
  await page.render(<StructuredView value={value} isOpen={false} />);
  return page.text();
}

test('a hand-off is a sentence with visible escapes', async () => {
  const handoff = { from: 'Triage', to: 'Billing\u202E' };
  expect(await renderedText({ handoff })).toBe('Triage handed over to Billing\\u202E');
});

test('other data is shown as JSON', async () => {
  expect(await renderedText({ bread: 2 })).toContain('"bread": 2');
});
