export * from '@millrace/providers/models';
