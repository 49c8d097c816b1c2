export * from '@millrace/providers/cassette';
