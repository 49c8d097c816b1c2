import { expect, test } from 'vitest';
import { secretMask } from './mask-secrets.ts';

// One secret value starts another one, is inside of it, or overlaps it. The output arrives in any pieces.

const env = {
  A_TOKEN: 's3cr3tVALUEabcabcabd',
  B_TOKEN: 'abcabcab',
  C_TOKEN: 's3cr3tVA',
  D_TOKEN: 'aaaaaaaa',
};

const masked = (pieces: readonly string[]) => {
  const mask = secretMask(env);
  const shown = pieces.map((piece) => mask.add(Buffer.from(piece)));
  return Buffer.concat([...shown, mask.end()]).toString();
};

test.each([
  'x s3cr3tVALUEabcabcabd y',
  's3cr3tVAs3cr3tVALUEabcabcabd',
  's3cr3tVALUEabcabcab',
  'abcabcabcabcab s3cr3tVALUEabcabcabdabcabcab',
  'aaaaaaaaaaaaaaaaaaab',
  's3cr3tV s3cr3tVA abcabca',
])('18.138: attack: %j is masked in the same way in all pieces', (text) => {
  const whole = masked([text]);
  for (const value of Object.values(env)) expect(whole).not.toContain(value);
  expect(masked([...text])).toBe(whole);
  for (let at = 1; at < text.length; at++)
    expect(masked([text.slice(0, at), text.slice(at)])).toBe(whole);
});
