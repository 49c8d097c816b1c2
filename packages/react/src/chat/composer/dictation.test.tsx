import type { HTMLTextAreaElement } from 'happy-dom';
import { expect, onTestFinished, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

/** Stands in for the speech recognition of a browser, which needs a microphone and a person. */
class Recognition extends EventTarget {
  static readonly all: Recognition[] = [];
  lang = '';
  continuous = false;
  readonly calls: string[] = [];
  readonly #heard: { readonly transcript: string }[][] = [];

  constructor() {
    super();
    Recognition.all.push(this);
  }

  start(): void {
    this.calls.push('start');
  }

  stop(): void {
    this.calls.push('stop');
    this.dispatchEvent(new Event('end'));
  }

  abort(): void {
    this.calls.push('abort');
  }

  hear(transcript: string): void {
    this.#heard.push([{ transcript }]);
    const results = { results: this.#heard, resultIndex: this.#heard.length - 1 };
    this.dispatchEvent(Object.assign(new Event('result'), results));
  }

  fail(error: string): void {
    this.dispatchEvent(Object.assign(new Event('error'), { error }));
    this.dispatchEvent(new Event('end'));
  }
}

async function renderComposer({ hasSpeech = true } = {}) {
  const page = await openDomPage('http://localhost/');
  if (hasSpeech) Object.assign(globalThis, { webkitSpeechRecognition: Recognition });
  Recognition.all.length = 0;
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'webkitSpeechRecognition'));
  const { Composer } = await import('./composer.tsx');
  const { drafts } = await import('./draft.ts');
  const { LabelsContext } = await import('../../labels/use-labels.ts');
  const { german } = await import('../../labels/de.ts');
  drafts.write('spoken', '');
  const sent: string[] = [];
  const onSend = async ({ text }: { readonly text: string }) => sent.push(text);
  await page.render(
    <LabelsContext value={german}>
      <Composer draftKey="spoken" placeholder="" onSend={onSend} />
    </LabelsContext>,
  );
  // The code of the button is loaded on demand.
  if (hasSpeech) await page.act(async () => void (await import('./dictation.tsx')));
  const field = () => page.find('textarea') as HTMLTextAreaElement;
  const button = (label: string) => page.find(`button[aria-label="${label}"]`);
  return { page, sent, field, button };
}

test('22.2: the user speaks a message in the language of the page, edits it and sends it', async () => {
  const { page, sent, field, button } = await renderComposer();
  await page.click(button('Diktieren'));
  const [recognition] = Recognition.all;
  expect(recognition).toMatchObject({ lang: 'de', continuous: true, calls: ['start'] });
  await page.act(() => recognition?.hear('Wie wird'));
  await page.act(() => recognition?.hear(' das Wetter'));
  expect(field().value).toBe('Wie wird das Wetter');
  await page.type(field(), 'Wie wird heute das Wetter');
  await page.act(() => recognition?.hear('in Bern?'));
  expect(field().value).toBe('Wie wird heute das Wetter in Bern?');
  await page.press(field(), 'Enter');
  expect(sent).toEqual(['Wie wird heute das Wetter in Bern?']);
  // Words after the message would be in the next message, so the recording ends.
  expect(recognition?.calls).toEqual(['start', 'abort']);
  button('Diktieren');
});

test('the user ends the dictation, and the words stay in the field', async () => {
  const { page, field, button } = await renderComposer();
  await page.type(field(), 'Bern:');
  await page.click(button('Diktieren'));
  await page.act(() => Recognition.all[0]?.hear('Sonne'));
  await page.click(button('Diktat beenden'));
  expect(Recognition.all[0]?.calls).toContain('stop');
  expect(field().value).toBe('Bern: Sonne');
  button('Diktieren');
});

test('a refused microphone is explained, and silence is not an error', async () => {
  const { page, button } = await renderComposer();
  await page.click(button('Diktieren'));
  await page.act(() => Recognition.all[0]?.fail('no-speech'));
  expect(page.findAll('.composer-error')).toEqual([]);
  await page.click(button('Diktieren'));
  await page.act(() => Recognition.all[1]?.fail('not-allowed'));
  expect(page.find('.composer-error').textContent).toMatch(
    /erlaubt dieser Seite das Mikrofon nicht/,
  );
});

test('a browser without speech recognition has no button for it', async () => {
  const { page } = await renderComposer({ hasSpeech: false });
  expect(page.findAll('button[aria-label="Diktieren"]')).toEqual([]);
});
