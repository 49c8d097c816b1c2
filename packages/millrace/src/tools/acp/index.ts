export * from '@millrace/tools/acp';
