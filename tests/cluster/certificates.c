/* Keys and certificates by OpenSSL, in files of a folder of their own. */
#include "certificates.h"
#include "test.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Signs with the issuer; issuer NULL: it signs itself, as an authority. */
static X509 *make(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key)
{
    static long serial;
    X509 *cert = X509_new();
    char text[64];
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 24L * 3600);
    X509_set_pubkey(cert, key);
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, issuer != NULL ? X509_get_subject_name(issuer) : subject);
    snprintf(text, sizeof text, "DNS:%s", name);
    if (issuer == NULL)
        add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
    else
        add_extension(cert, issuer, NID_subject_alt_name, text);
    assert_true(X509_sign(cert, issuer != NULL ? issuer_key : key, EVP_sha256()) > 0);
    return cert;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_cert(const char *path, X509 *cert)
{
    FILE *file = open_file(path);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
}

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *file = open_file(path);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

void certificates_make(struct certificates *c)
{
    static const char *const names[] = { "gateway.test", "node.test", "other.test",
                                         "gateway.test" };
    EVP_PKEY *ca_keys[2] = { EVP_EC_gen("P-256"), EVP_EC_gen("P-256") };
    X509 *ca[2];
    snprintf(c->folder, sizeof c->folder, "/tmp/shoal-test-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    for (int i = 0; i < 2; i++)
        ca[i] = make(ca_keys[i], "Shoal test authority", NULL, NULL);
    snprintf(c->ca, sizeof c->ca, "%s/ca.pem", c->folder);
    write_cert(c->ca, ca[0]);
    for (int i = 0; i < 4; i++) {
        int by = i == CERTIFICATE_STRANGER;
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *cert = make(key, names[i], ca[by], ca_keys[by]);
        snprintf(c->of[i].cert, sizeof c->of[i].cert, "%s/%d.pem", c->folder, i);
        snprintf(c->of[i].key, sizeof c->of[i].key, "%s/%d.key", c->folder, i);
        write_cert(c->of[i].cert, cert);
        write_key(c->of[i].key, key);
        X509_free(cert);
        EVP_PKEY_free(key);
    }
    for (int i = 0; i < 2; i++) {
        X509_free(ca[i]);
        EVP_PKEY_free(ca_keys[i]);
    }
}

void certificates_remove(const struct certificates *c)
{
    (void)unlink(c->ca);
    for (int i = 0; i < 4; i++) {
        (void)unlink(c->of[i].cert);
        (void)unlink(c->of[i].key);
    }
    (void)rmdir(c->folder);
}
