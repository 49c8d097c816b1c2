import { openaiChat } from '../openai-chat/provider.ts';
import { helloItems } from './hello-items.ts';

// A test runs this file as a separate process. The process exits by itself only if no handle stays
// open.

const [, , baseUrl = '', way = ''] = process.argv;
const controller = new AbortController();
const provider = openaiChat({ model: 'm', baseUrl, apiKey: 'test-key' });

if (way === 'abort') {
  const { stop } = await provider.complete(
    { items: helloItems },
    { signal: controller.signal, onStep: () => controller.abort() },
  );
  console.log(stop.reason);
} else {
  const ids = (await import('@millrace/core')).countingIds();
  const item = { id: ids.item(), turn: 1, attempt: 1 };
  for await (const _step of provider.stream({ items: helloItems }, { item, ids })) break;
  console.log('left');
}
