import { expect, test } from 'vitest';
import { english } from '../../labels/en.ts';
import { fileLimits, fileSize, PickedFiles } from './picked-files.ts';

const file = (name: string, size = 3) => new File([new Uint8Array(size)], name);
const names = (files: PickedFiles) => files.of('s').map((one) => [one.file.name, one.state]);
const attachment = ({ name, size }: File, task: string) => ({
  ...{ file_id: `${task}/${name}`, name, type: 'text/plain', size },
});

test('files that exceed a limit are refused with the reason, and the others are added', () => {
  const files = new PickedFiles();
  const refused = files.add(
    's',
    [
      file('a'),
      file('empty', 0),
      file('big', fileLimits.fileBytes + 1),
      file('b', fileLimits.fileBytes),
      file('c', fileLimits.fileBytes),
      file('d'),
    ],
    english,
  );
  expect(names(files)).toEqual([
    ['a', 'ready'],
    ['b', 'ready'],
    ['d', 'ready'],
  ]);
  expect(refused).toEqual([
    'empty is empty, or is a folder.',
    'big has 10 MB. A file has at most 10 MB.',
    'c: the files of a message have at most 20 MB together.',
  ]);
  const many = Array.from({ length: 20 }, (_, at) => file(`f${at}`));
  expect(files.add('s', many, english)).toHaveLength(3);
  expect(files.of('s')).toHaveLength(20);
  expect(files.of('another')).toEqual([]);
});

test('a failed upload keeps all files, and the next try sends only the missing ones', async () => {
  const files = new PickedFiles();
  files.add('s', [file('a'), file('b')], english);
  const sent: string[] = [];
  let isDown = true;
  const send = async (task: string, one: File) => {
    if (one.name === 'b' && isDown) throw new Error('No room');
    sent.push(one.name);
    return attachment(one, task);
  };
  await expect(files.upload('s', 't', send, english)).rejects.toThrow(
    'b could not be sent: No room',
  );
  expect(names(files)).toEqual([
    ['a', 'ready'],
    ['b', 'failed'],
  ]);
  expect(files.of('s')[1]?.error).toBe('No room');
  isDown = false;
  const attachments = await files.upload('s', 't', send, english);
  expect(attachments.map(({ file_id }) => file_id)).toEqual(['t/a', 't/b']);
  expect(sent).toEqual(['a', 'b']);
  // An upload belongs to one task, so a second task needs its own upload.
  expect((await files.upload('s', 'u', send, english)).map(({ file_id }) => file_id)).toEqual([
    'u/a',
    'u/b',
  ]);
  files.removeSent('s', files.of('s').slice(0, 1));
  expect(names(files)).toEqual([['b', 'ready']]);
});

test('sizes are shown in the units of a file manager', () => {
  expect([1, 1500, 20_480, 1_600_000].map(fileSize)).toEqual(['1 B', '1.5 KB', '20 KB', '1.5 MB']);
});
