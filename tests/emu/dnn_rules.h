/* dnn_rules.h : attributes of the emulated cuDNN and the check of a descriptor. */
#ifndef EMU_DNN_RULES_H
#define EMU_DNN_RULES_H
#include "dnn.h"

struct dnn_rule {
    cudnnBackendDescriptorType_t descriptor;
    int name;
    cudnnBackendAttributeType_t type;
    int64_t n; /* elements; 0: any number */
    bool is_required;
};
const dnn_rule *dnn_rule_of(cudnnBackendDescriptorType_t descriptor, int name);
cudnnStatus_t dnn_check(const dnn_state &s);

#endif
