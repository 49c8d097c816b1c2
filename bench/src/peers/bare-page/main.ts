// A page without a library, as a lower bound. In each frame, it appends the new text to the last
// paragraph and scrolls to the end. The URL contains the address of the chat.

const main = document.querySelector('main');
const form = document.querySelector('form');
const api = new URLSearchParams(location.search).get('api') ?? '/api/chat';

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  void showAnswer(form.querySelector('input')?.value ?? '');
});

async function showAnswer(text: string): Promise<void> {
  const message = { id: 'message', role: 'user', parts: [{ type: 'text', text }] };
  const response = await fetch(api, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'chat', messages: [message], trigger: 'submit-message' }),
  });
  const lines = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await lines?.read(); read?.done === false; read = await lines?.read()) {
    const complete = (rest + read.value).split('\n\n');
    rest = complete.pop() ?? '';
    append(complete.map(deltaIn).join(''));
  }
}

/** Returns the text in an event of the stream. */
function deltaIn(event: string): string {
  const data = event.split('\n').find((line) => line.startsWith('data: {'));
  const chunk = data === undefined ? {} : (JSON.parse(data.slice(6)) as { type?: string });
  return chunk.type === 'text-delta' ? (chunk as { readonly delta: string }).delta : '';
}

let waiting = '';

/** Collects the text of one frame, so that the browser computes the layout once. */
function append(text: string): void {
  if (waiting === '') requestAnimationFrame(show);
  waiting += text;
}

function show(): void {
  const [first = '', ...others] = waiting.split('\n\n');
  waiting = '';
  const last = main?.lastElementChild?.firstChild;
  if (last instanceof Text) last.appendData(first);
  for (const paragraph of last instanceof Text ? others : [first, ...others]) {
    const element = document.createElement('p');
    element.append(paragraph);
    main?.append(element);
  }
  scrollTo(0, document.documentElement.scrollHeight);
}
