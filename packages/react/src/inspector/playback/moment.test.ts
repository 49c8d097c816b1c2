import { decodeRecord, decodeTranscript, sessionId, transcript } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { english } from '../../labels/en.ts';
import { numberedRecords } from '../../testing/records.ts';
import { recordLines, transcriptText } from '../export-menu.tsx';
import { SessionModel } from '../model/session-model.ts';
import { describeRecord } from '../records/describe-record.ts';
import { indexOfMoment, momentText, stepFrom } from './moment.ts';

const records = numberedRecords(recordedRun(2));
const model = new SessionModel(sessionId('test'));
model.add(records);

describe('a moment', () => {
  test('is described by its record and its time', () => {
    expect(momentText(model, 119, english)).toBe(`record 120 of ${records.length}, 1.2 s`);
    expect(momentText(new SessionModel(sessionId('empty')), -1, english)).toBe('no records');
  });

  test('without an offset is the last record, and beyond the end too', () => {
    expect(indexOfMoment(records, undefined)).toBe(records.length - 1);
    expect(indexOfMoment(records, 1e9)).toBe(records.length - 1);
    expect(indexOfMoment(records, 5)).toBe(4);
  });

  test('steps by record, fact or turn, and never beyond the ends', () => {
    const facts = records.flatMap(({ fact }, index) => (fact === undefined ? [] : [index]));
    const [, , , , fifth = expect.fail(), sixth = expect.fail()] = facts;
    expect(stepFrom(records, fifth, 1, 'fact')).toBe(sixth);
    expect(stepFrom(records, sixth, -1, 'fact')).toBe(fifth);
    expect(stepFrom(records, 7, 1, 'record')).toBe(8);
    const turn = stepFrom(records, 0, 1, 'turn');
    expect(records[turn]?.fact?.type).toBe('turn_started');
    expect(stepFrom(records, 0, -1, 'record')).toBe(0);
    expect(stepFrom(records, records.length - 1, 1, 'fact')).toBe(records.length - 1);
  });

  test('has the facts up to it', () => {
    const facts = model.factsUpTo(40);
    expect(facts).toEqual(records.slice(0, 40).filter(({ fact }) => fact !== undefined));
  });
});

describe('an export', () => {
  test('contains every record as the log has it', () => {
    const lines = recordLines(records);
    expect(lines.map((line) => decodeRecord(line))).toEqual(records);
  });

  test('is the transcript of that moment', () => {
    const state = model.checkpoints.stateAt(60);
    expect(decodeTranscript(transcriptText(state))).toEqual(transcript(state));
  });
});

test('every record has a one-line description', () => {
  for (const record of records) {
    const line = describeRecord(record);
    expect(line.length).toBeLessThan(170);
    expect(line).not.toContain('\n');
  }
});
