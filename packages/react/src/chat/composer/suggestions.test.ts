import { expect, test } from 'vitest';
import { offerFor } from './suggestions.tsx';

const commands = [{ name: 'new' }, { name: 'stop' }, { name: 'overview' }];
const mentions = [{ name: 'report.pdf' }, { name: 'Rain.csv' }];
const offered = (text: string, cursor = text.length) =>
  offerFor(text, cursor, { commands, mentions })?.entries.map(({ name }) => name);

test.each([
  ['/', ['new', 'stop', 'overview']],
  ['/s', ['stop']],
  ['/x', undefined],
  // A path or a second line is no command.
  ['/etc/passwd', undefined],
  ['see /s', undefined],
  ['hello\n/s', undefined],
  ['@', ['report.pdf', 'Rain.csv']],
  ['Compare @ra', ['Rain.csv']],
  ['mail@re', undefined],
  ['@report.pdf and', undefined],
  ['nothing', undefined],
])('22.2: %j offers %j', (text, names) => {
  expect(offered(text)).toEqual(names);
});

test('the text after the cursor does not count', () => {
  expect(offered('/s is long', 2)).toEqual(['stop']);
  expect(offerFor('a @re b', 5, { mentions })).toMatchObject({ mark: '@', from: 2 });
});
