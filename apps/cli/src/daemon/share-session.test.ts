import { expect, test } from 'vitest';
import { linkNotes } from './share-session.ts';

test('a link of this machine names the command for a link of a proxy', () => {
  const state = { hasPage: true, pid: 17 };
  expect(linkNotes('https://laptop.example.com/app', state)).toEqual([]);
  const [note, ...others] = linkNotes('http://127.0.0.1:5003/app', state);
  expect(note).toContain('millrace share --url <address of the proxy>');
  expect(others).toEqual([]);
});

test('without the web page, a link says how to add the page', () => {
  const notes = linkNotes('https://laptop.example.com/app', { hasPage: false, pid: 17 });
  expect(notes).toEqual([
    'Browsers cannot show the link yet. Run npm run build:all in the clone, end the daemon (kill 17), and create the link again.',
  ]);
});
