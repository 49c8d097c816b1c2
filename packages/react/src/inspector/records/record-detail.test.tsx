import type { PastRequest } from '@millrace/client';
import { Event } from 'happy-dom';
import { expect, test } from 'vitest';
import { settled } from '../../../../client/src/testing/settled.ts';
import { openDomPage } from '../../testing/dom-page.ts';
import { type ReadRequest, RequestView } from './record-detail.tsx';

const request: PastRequest = {
  ...{ task_id: 't', turn: 2, attempt: 1, provider: 'anthropic', model: 'claude' },
  url: 'https://api.test/v1/messages',
  body: { messages: [{ role: 'user', content: 'Hi' }] },
  notes: ['Made again from the log.'],
};

async function renderRequest(readRequest: ReadRequest) {
  const page = await openDomPage('http://page.test/app/tasks/t');
  await page.render(<RequestView turn={2} attempt={1} readRequest={readRequest} />);
  const details = page.find('details');
  const unfold = async () => {
    await page.act(async () => {
      Object.assign(details, { open: true });
      details.dispatchEvent(new Event('toggle'));
      await settled();
    });
  };
  const press = async () => {
    await page.click(page.find('button'));
    await page.act(() => settled());
  };
  return { unfold, press, text: () => details.textContent ?? '' };
}

test('the request is read once, when it is unfolded, and shows its notes', async () => {
  const requests: unknown[] = [];
  const { unfold, text } = await renderRequest(async (at) => {
    requests.push(at);
    return request;
  });
  expect(requests).toEqual([]);
  await unfold();
  await unfold();
  expect(requests).toEqual([{ turn: 2, attempt: 1 }]);
  for (const words of ['claude', 'https://api.test/v1/messages', '"role": "user"', 'Made again'])
    expect(text()).toContain(words);
});

test('22.9: a request that cannot be read shows the reason, and can be tried again', async () => {
  const why = 'The server does not answer';
  let failures = 1;
  const { unfold, text, press } = await renderRequest(async () => {
    if (failures-- > 0) throw new Error(why);
    return request;
  });
  await unfold();
  expect(text()).toContain(why);
  await press();
  expect(text()).toContain('claude');
  expect(text()).not.toContain(why);
});
