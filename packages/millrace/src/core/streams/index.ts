export * from '@millrace/core/streams';
