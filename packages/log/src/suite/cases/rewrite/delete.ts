import { sessionId } from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import { marker, markers, wholeItem } from '../../drafts.ts';
import { expectFollowRefusal, expectRefusal } from '../../expectations.ts';
import { offsets } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const other = sessionId('t');

async function withBlob(log: Log, id: typeof session, text: string): Promise<string> {
  const { hash, length } = await log.blobs.put(new TextEncoder().encode(text));
  const source = { type: 'blob', hash, length } as const;
  const driver = await log.open(id);
  await driver.append(wholeItem('i', { kind: 'media', mimeType: 'text/plain', source }));
  return hash;
}

const bytes = Uint8Array.of(1, 2, 3, 4);

export const deleteCases: readonly CaseSpec[] = [
  {
    name: 'delete: removes the session and leaves the others',
    async run({ log }) {
      await (await log.open(session)).append(markers(3));
      await (await log.open(other)).append(markers(2));
      await log.delete(session);
      assert.equal(await log.info(session), undefined);
      await expectRefusal('no_session', log.read(session));
      await expectFollowRefusal('no_session', log.follow(session));
      assert.deepEqual(
        (await log.list()).map((info) => info.session),
        [other],
      );
      assert.deepEqual(await offsets(log, other), [1, 2]);
      await log.delete(session);
      await log.delete(sessionId('never was'));
    },
  },
  {
    name: 'delete: its driver gets an error, even if a new session has the same id',
    async run({ log }) {
      const ada = await log.open(session);
      const bob = await log.open(session, { takeOver: true });
      const early = await bob.admit({ for: 'request', turn: 1 });
      await bob.append(markers(1));
      await log.delete(session);
      await expectRefusal('no_session', bob.append([marker('late')]));
      const cyd = await log.open(session);
      const dan = await log.open(session, { takeOver: true });
      for (const stale of [ada, bob])
        await assert.rejects(stale.append([marker('stale')]), { code: /fenced|no_session/ });
      await expectRefusal('fenced', cyd.append([marker('stale')]));
      await expectRefusal('fenced', log.produce(early));
      assert.deepEqual((await dan.append([marker('first')])).through, 1);
      assert.ok(dan.epoch > cyd.epoch && cyd.epoch > bob.epoch && bob.epoch > ada.epoch);
    },
  },
  {
    name: 'delete: a new session with the same id starts at offset 1 without old data',
    async run({ log }) {
      const driver = await log.open(session);
      await log.submit(session, {}, 'k');
      await driver.append(markers(2));
      await log.produce(await driver.admit({ for: 'request', turn: 1 }));
      await log.delete(session);
      assert.deepEqual(await log.submit(session, {}, 'k'), { offset: 1, isRepeat: false });
      const next = await log.open(session);
      const producer = await log.produce(await next.admit({ for: 'request', turn: 1 }));
      assert.equal(producer.attempt, 1);
      assert.deepEqual(await offsets(log, session), [1]);
    },
  },
  {
    name: 'delete: removes the blobs that only this session references',
    async run({ log }) {
      const [own, shared] = [
        await withBlob(log, session, 'own'),
        await withBlob(log, other, 'both'),
      ];
      const third = sessionId('u');
      assert.equal(await withBlob(log, third, 'both'), shared);
      const forked = sessionId('v');
      await log.fork(session, { into: forked, through: 3 });
      await log.delete(session);
      assert.notEqual(await log.blobs.get(own), undefined);
      await log.delete(forked);
      assert.equal(await log.blobs.get(own), undefined);
      await log.delete(other);
      assert.notEqual(await log.blobs.get(shared), undefined);
      await log.delete(third);
      assert.equal(await log.blobs.get(shared), undefined);
    },
  },
  {
    name: 'delete: a blob that was stored again stays',
    async run({ log }) {
      const hash = await withBlob(log, session, 'both');
      const again = await log.blobs.put(new TextEncoder().encode('both'));
      assert.equal(again.hash, hash);
      await log.delete(session);
      assert.notEqual(await log.blobs.get(hash), undefined);
      const source = { type: 'blob', ...again } as const;
      const part = { kind: 'media', mimeType: 'a/b', source } as const;
      await (await log.open(other)).append(wholeItem('i', part));
      await log.delete(other);
      assert.equal(await log.blobs.get(hash), undefined);
    },
  },
  {
    name: 'delete: a blob that was stored twice stays for the second writer',
    async run({ log }) {
      const stored = [await log.blobs.put(bytes), await log.blobs.put(bytes)];
      for (const [index, ref] of stored.entries()) {
        const id = index === 0 ? session : other;
        const part = { kind: 'media', mimeType: 'a/b', source: { type: 'blob', ...ref } } as const;
        await (await log.open(id)).append(wholeItem('i', part));
        assert.deepEqual(await log.blobs.get(ref.hash), bytes);
        await log.delete(id);
      }
      assert.equal(await log.blobs.get(stored[0]?.hash ?? ''), undefined);
    },
  },
  {
    name: 'delete: with `ifThrough` it deletes only if nothing was added',
    async run({ log }) {
      await (await log.open(session)).append(markers(2));
      await log.submit(session, {}, 'came since');
      assert.equal(await log.delete(session, { ifThrough: 2 }), false);
      assert.equal((await log.info(session))?.through, 3);
      assert.equal(await log.delete(session, { ifThrough: 3 }), true);
      assert.equal(await log.info(session), undefined);
      assert.equal(await log.delete(session), false);
    },
  },
  {
    name: 'delete: keeps a blob that is stored and not referenced yet',
    async run({ log }) {
      const { hash } = await log.blobs.put(Uint8Array.of(1, 2, 3));
      await withBlob(log, session, 'own');
      await log.delete(session);
      assert.notEqual(await log.blobs.get(hash), undefined);
    },
  },
  {
    name: 'delete: other logs notice it, even if the id is used again',
    needsDurable: true,
    async run({ log, another }) {
      const second = await another();
      await (await log.open(session)).append(markers(3));
      assert.deepEqual(await offsets(second, session), [1, 2, 3]);
      await log.delete(session);
      await expectRefusal('no_session', second.read(session));
      // A store may reuse its internal numbers, but a session must never contain records of another session.
      await (await log.open(other)).append([marker('a secret of another session')]);
      await (await log.open(session)).append(markers(2));
      const text = JSON.stringify(await second.read(session));
      assert.equal(text.includes('a secret'), false);
      assert.deepEqual(await offsets(second, session), [1, 2]);
    },
  },
];
